"""What is true in the world: jobs, animals, tools, materials, simple physics, body, places.

Tables only, one row a fact group; the notation of the words is that of :mod:`words`. Within a
column values differ as far as possible, so that the other rows give wrong answers of one kind.
"""

#: job; workplace; what is done there; tool
JOBS = """
fornaio|fornaia=baker; panetteria=bakery@in0:in; impastare il pane=knead the dough; matterello=rolling pin
pescatore|pescatrice=fisher; barca=boat@su:on; tirare su le reti=pull up the nets; rete f=net
contadino|contadina=farmer; campo=field; seminare il grano=sow the wheat; aratro=plough
falegname|falegname=carpenter; falegnameria=wood shop@in0:in; piallare le assi=plane the boards; pialla=plane
fabbro|fabbra=blacksmith; fucina=forge; battere il ferro=hammer the iron; incudine f=anvil
medico|medica=doctor; ospedale m=hospital@in0:in; visitare i malati=examine the patients; stetoscopio=stethoscope
maestro|maestra=teacher; scuola=school@a0:at; spiegare la lezione=explain the lesson; lavagna=blackboard
cuoco|cuoca=cook; ristorante m=restaurant@a:at; preparare la zuppa=prepare the soup; pentola=pot
sarto|sarta=tailor; sartoria=tailor shop@in0:in; cucire i vestiti=sew the clothes; ago=needle
calzolaio|calzolaia=shoemaker; calzoleria=shoe shop@in0:in; riparare le scarpe=repair the shoes; lesina=awl
giardiniere|giardiniera=gardener; giardino=garden@in0:in; potare le rose=prune the roses; annaffiatoio=watering can
muratore|muratrice=bricklayer; cantiere m=building site@in0:at; costruire i muri=build the walls; cazzuola=trowel
idraulico|idraulica=plumber; bagno=bathroom; aggiustare i tubi=fix the pipes; chiave inglese/chiavi inglesi f=wrench
elettricista|elettricista=electrician; centrale f=power station@in0:at; collegare i cavi=connect the cables; cacciavite m=screwdriver
bibliotecario|bibliotecaria=librarian; biblioteca=library@in0:in; ordinare i libri=sort the books; catalogo=catalogue
infermiere|infermiera=nurse; clinica=clinic@in0:in; fasciare le ferite=bandage the wounds; siringa=syringe
postino|postina=mail carrier; ufficio postale/uffici postali m=post office@a:at; consegnare le lettere=deliver the letters; borsa=bag
parrucchiere|parrucchiera=hairdresser; salone m=salon; tagliare i capelli=cut the hair; pettine m=comb
macellaio|macellaia=butcher; macelleria=butcher shop@in0:in; tagliare la carne=cut the meat; mannaia=cleaver
fruttivendolo|fruttivendola=greengrocer; mercato=market@a:at; vendere la frutta=sell the fruit; bilancia=scale
pittore|pittrice=painter; studio=studio; dipingere i quadri=paint the pictures; pennello=brush
musicista|musicista=musician; teatro=theatre@a0:at; suonare le sinfonie=play the symphonies; violino=violin
giornalista|giornalista=journalist; redazione f=newsroom@in0:in; scrivere gli articoli=write the articles; taccuino=notebook
fotografo|fotografa=photographer; camera oscura/camere oscure f=darkroom; sviluppare le fotografie=develop the photographs; obiettivo=lens
astronomo|astronoma=astronomer; osservatorio=observatory@a:at; osservare le stelle=observe the stars; telescopio=telescope
chimico|chimica=chemist; laboratorio=laboratory@in0:in; mescolare gli acidi=mix the acids; provetta=test tube
minatore|minatrice=miner; miniera=mine@in0:in; scavare il carbone=dig the coal; piccone m=pickaxe
marinaio|marinaia=sailor; nave f=ship@su:on; alzare le vele=raise the sails; bussola=compass
pilota|pilota=pilot; aeroporto=airport@a:at; pilotare gli aerei=fly the planes; casco=helmet
macchinista|macchinista=train driver; stazione f=station@in0:at; guidare i treni=drive the trains; fischietto=whistle
apicoltore|apicoltrice=beekeeper; apiario=apiary; raccogliere il miele=collect the honey; affumicatore m=smoker
pastore|pastora=shepherd; pascolo=pasture@a:in; guidare il gregge=lead the flock; bastone m=stick
mugnaio|mugnaia=miller; mulino=mill@a:at; macinare il grano=grind the wheat; macina=millstone
orologiaio|orologiaia=watchmaker; orologeria=watch shop@in0:in; riparare gli orologi=repair the watches; lente f=magnifier
tessitore|tessitrice=weaver; filanda=spinning mill@in0:at; tessere la lana=weave the wool; telaio=loom
vasaio|vasaia=potter; bottega=workshop@in0:in; modellare la creta=shape the clay; tornio=turning wheel
veterinario|veterinaria=vet; ambulatorio=animal clinic@in0:in; curare gli animali=treat the animals; benda=bandage
giudice|giudice=judge; tribunale m=court@in0:in; leggere le sentenze=read the verdicts; toga=gown
cameriere|cameriera=waiter; trattoria=inn@in0:at; servire i piatti=serve the dishes; vassoio=tray
casaro|casara=cheesemaker; caseificio=dairy; mescolare il latte=stir the milk; mestolo=ladle
boscaiolo|boscaiola=woodcutter; bosco=forest; abbattere gli alberi=cut down the trees; ascia=axe
farmacista|farmacista=pharmacist; farmacia=pharmacy@in0:in; pesare le medicine=weigh the medicines; mortaio=mortar
"""

#: animal; its call; food; home; class
ANIMALS = """
mucca=cow; muggire=moo; erba=grass*; stalla=cowshed; mammifero=mammal
cavallo=horse; nitrire=neigh; fieno=hay*; scuderia=stable; mammifero=mammal
pecora=sheep; belare=bleat; trifoglio=clover*; ovile m=sheepfold; mammifero=mammal
gallina=hen; chiocciare=cluck; mais/mais m=corn*; pollaio=henhouse; uccello=bird
cane m=dog; abbaiare=bark; osso/ossa:f=bone; cuccia=kennel; mammifero=mammal
gatto=cat; miagolare=meow; topo=mouse; soffitta=attic; mammifero=mammal
maiale m=pig; grugnire=grunt; ghianda=acorn; porcile m=pigsty; mammifero=mammal
leone m=lion; ruggire=roar; gazzella=gazelle; savana=savanna; mammifero=mammal
lupo=wolf; ululare=howl; capriolo=fawn; foresta=forest; mammifero=mammal
rana=frog; gracidare=croak; zanzara=mosquito; stagno=pond; anfibio=amphibian
ape f=bee; ronzare=buzz; nettare m=nectar*; alveare m=beehive; insetto=insect
grillo=cricket; frinire=chirp; foglia=leaf; prato=meadow; insetto=insect
asino=donkey; ragliare=bray; paglia=straw*; recinto=pen; mammifero=mammal
elefante m=elephant; barrire=trumpet; ramo=branch; giungla=jungle; mammifero=mammal
serpente m=snake; sibilare=hiss; lucertola=lizard; deserto=desert; rettile m=reptile
corvo=crow; gracchiare=caw; noce f=walnut; torre f=tower@su:on; uccello=bird
gufo=owl; bubolare=hoot; talpa=mole; fienile m=hayloft; uccello=bird
colomba=dove; tubare=coo; seme m=seed; colombaia=dovecote; uccello=bird
passero=sparrow; cinguettare=twitter; briciola=crumb; siepe f=hedge; uccello=bird
anatra=duck; starnazzare=quack; alga=water plant; lago=lake@su:on; uccello=bird
orso=bear; ringhiare=growl; miele m=honey*; grotta=cave; mammifero=mammal
volpe f=fox; guaire=yelp; coniglio=rabbit; tana=den; mammifero=mammal
squalo=shark; -; tonno=tuna/tuna; oceano=ocean; pesce m=fish
balena=whale; cantare=sing; gamberetto=shrimp; mare m=sea; mammifero=mammal
granchio=crab; -; mollusco=clam; scoglio=rock@su:on; crostaceo=crustacean
pinguino=penguin; -; sardina=sardine; ghiacciaio=glacier@su:on; uccello=bird
cammello=camel; -; cardo=thistle; oasi f=oasis/oases; mammifero=mammal
scimmia=monkey; urlare=scream; banana=banana; palma=palm tree@su:in; mammifero=mammal
scoiattolo=squirrel; -; nocciola=hazelnut; quercia=oak@su:in; mammifero=mammal
topo=mouse; squittire=squeak; formaggio=cheese*; cantina=cellar@in0:in; mammifero=mammal
riccio=hedgehog; -; lumaca=snail; orto=vegetable garden; mammifero=mammal
giraffa=giraffe; -; acacia=acacia; pianura=plain@in:on; mammifero=mammal
coccodrillo=crocodile; -; zebra=zebra; palude f=swamp; rettile m=reptile
aquila=eagle; stridere=screech; marmotta=marmot; montagna=mountain@su:on; uccello=bird
ragno=spider; -; mosca=fly; ragnatela=web@su:on; aracnide m=arachnid
formica=ant; -; zucchero=sugar*; formicaio=anthill; insetto=insect
trota=trout; -; verme m=worm; torrente m=stream; pesce m=fish
tacchino=turkey; gloglottare=gobble; orzo=barley*; aia=farmyard; uccello=bird
capra=goat; -; cespuglio=shrub; collina=hill@su:on; mammifero=mammal
cicogna=stork; -; rana=frog; camino=chimney@su:on; uccello=bird
"""

#: tool; what it is for
TOOLS = """
sega=saw; segare il legno=cut the wood
martello=hammer; piantare i chiodi=hit the nails
coltello=knife; affettare il pane=slice the bread
cucchiaio=spoon; mangiare la minestra=eat the soup
forchetta=fork; mangiare la pasta=eat the pasta
scopa=broom; spazzare il pavimento=sweep the floor
secchio=bucket; portare l'acqua=carry the water
ombrello=umbrella; ripararsi dalla pioggia=keep off the rain
chiave f=key; aprire la porta=open the door
penna=pen; firmare i documenti=sign the documents
righello=ruler; misurare le linee=measure the lines
termometro=thermometer; misurare la febbre=measure the fever
orologio=clock; leggere l'ora=tell the time
lampada=lamp; illuminare la stanza=light up the room
fiammifero=match; accendere il fuoco=start the fire
ferro da stiro=flat iron; stirare le camicie=press the shirts
spugna=sponge; lavare i piatti=wash the dishes
asciugamano=towel; asciugare le mani=dry the hands
scala=ladder; salire sul tetto=climb onto the roof
corda=rope; legare i pacchi=tie the parcels
pala=shovel; scavare le buche=dig the holes
rastrello=rake; radunare le foglie=gather the leaves
falce f=sickle; mietere il grano=reap the wheat
padella=pan; friggere le uova=fry the eggs
bollitore m=kettle; scaldare il tè=heat the tea
frigorifero=fridge; conservare il latte=store the milk
telefono=telephone; chiamare gli amici=call the friends
microscopio=microscope; studiare le cellule=study the cells
calamita=magnet; attirare gli spilli=attract the pins
freno=brake; fermare la bicicletta=stop the bicycle
remo=oar; spingere la barca=push the boat
ancora=anchor; bloccare la nave=hold the ship
setaccio=sieve; setacciare la farina=sift the flour
imbuto=funnel; riempire le bottiglie=fill the bottles
spazzolino=toothbrush; pulire i denti=clean the teeth
cuscino=pillow; appoggiare la testa=rest the head
pompa=pump; gonfiare le gomme=inflate the tyres
trapano=drill; forare il muro=bore the wall
lima=file; levigare il metallo=smooth the metal
ventaglio=fan; rinfrescare il viso=cool the face
stufa=stove; riscaldare la cucina=heat the kitchen
cesto=basket; trasportare le mele=carry the apples
"""

#: thing; what it is made of
THINGS = """
finestra=window; vetro=glass*
tavolo=table; legno=wood*
anello=ring; oro=gold*
maglione m=sweater; lana=wool*
moneta=coin; bronzo=bronze*
libro=book; carta=paper*
stivale m=boot; cuoio=leather*
tazza=cup; porcellana=porcelain*
mattone m=brick; argilla=clay*
statua=statue; marmo=marble*
pneumatico=tyre; gomma=rubber*
camicia=shirt; cotone m=cotton*
sciarpa=scarf; seta=silk*
candela=candle; cera=wax*
chiodo=nail; acciaio=steel*
cavo=cable; rame m=copper*
calice m=goblet; cristallo=crystal*
cappello=hat; paglia=straw*
lattina=can; alluminio=aluminium*
tubo=pipe; piombo=lead*
vela=sail; tela=canvas*
ponte m=bridge; cemento=concrete*
bottiglia=bottle; plastica=plastic*
lenzuolo/lenzuola:f=sheet; lino=linen*
medaglia=medal; argento=silver*
vaso=vase; terracotta=terracotta*
campana=bell; ottone m=brass*
cancello=gate; ferro=iron*
scatola=box; cartone m=cardboard*
tetto=roof; ardesia=slate*
flauto=flute; bambù m=bamboo*
tappo=stopper; sughero=cork*
guanto=glove; pelliccia=fur*
collana=necklace; ambra=amber*
strada=road; asfalto=asphalt*
"""

#: stuff; what it is like
PROPERTIES = """
vetro=glass*; trasparente=transparent
gomma=rubber*; elastico=elastic
lana=wool*; caldo=warm
piombo=lead*; pesante=heavy
sughero=cork*; leggero=light
acciaio=steel*; duro=hard
seta=silk*; liscio=smooth
marmo=marble*; freddo=cold
oro=gold*; prezioso=precious
carta=paper*; sottile=thin
cotone m=cotton*; morbido=soft
porcellana=porcelain*; fragile=fragile
ferro=iron*; magnetico=magnetic
plastica=plastic*; impermeabile=waterproof
argento=silver*; lucente=shiny
cuoio=leather*; resistente=tough
sabbia=sand*; granuloso=grainy
miele m=honey*; appiccicoso=sticky
ghiaccio=ice*; scivoloso=slippery
zucchero=sugar*; dolce=sweet
sale m=salt*; salato=salty
aceto=vinegar*; aspro=sour
caffè m=coffee*; amaro=bitter
peperoncino=chilli*; piccante=spicy
olio=oil*; unto=greasy
neve f=snow*; bianco=white
carbone m=coal*; nero=black
erba=grass*; verde=green
sangue m=blood*; rosso=red
fumo=smoke*; grigio=grey
velluto=velvet*; soffice=fluffy
fango=mud*; sporco=dirty
"""

#: what; what happens to it; what follows
PHYSICS = """
ghiaccio=ice*; restare al sole=stay in the sun; sciogliersi=melt
acqua=water*; arrivare a cento gradi=reach a hundred degrees; bollire=boil
acqua=water*; scendere sotto lo zero=drop below zero; gelare=freeze
ferro=iron*; restare sotto la pioggia=stay out in the rain; arrugginire=rust
legno=wood*; cadere nel fuoco=fall into the fire; bruciare=burn
sasso=stone; cadere nello stagno=fall into the pond; affondare=sink
sughero=cork*; finire in acqua=end up in water; galleggiare=float
palla=ball; toccare il pavimento=touch the floor; rimbalzare=bounce
bicchiere m=glass; cadere sulla pietra=fall on the stone; rompersi=break
palloncino=balloon; incontrare uno spillo=meet a pin; scoppiare=burst
pianta=plant; restare senza acqua=stay without water; appassire=wither
fiore m=flower; ricevere il sole di primavera=receive the spring sun; sbocciare=bloom
seme m=seed; ricevere acqua e luce=receive water and light; germogliare=sprout
foglia=leaf; restare sul ramo in autunno=stay on the branch in autumn; ingiallire=turn yellow
latte m=milk*; restare fuori dal frigorifero=stay out of the fridge; inacidire=turn sour
pasta=dough*; riposare con il lievito=rest with the yeast; gonfiarsi=swell
metallo=metal*; ricevere molto calore=receive much heat; dilatarsi=expand
ombra=shadow; restare fino al tramonto=stay until sunset; allungarsi=grow longer
bucato=laundry*; stare al vento=stay in the wind; asciugarsi=dry
zucchero=sugar*; finire nel tè=end up in the tea; dissolversi=dissolve
pane m=bread*; restare troppo nel forno=stay too long in the oven; annerirsi=turn black
mela=apple; staccarsi dal ramo=leave the branch; cadere a terra=fall to the ground
corda=string; ricevere un colpo=receive a stroke; vibrare=vibrate
aquilone m=kite; trovare il vento=find the wind; volare=fly
lampadina=light bulb; ricevere la corrente=receive current; accendersi=light up
candela=candle; perdere l'ossigeno=lose the oxygen; spegnersi=go out
uovo/uova:f=egg; cuocere nell'acqua=cook in the water; indurirsi=harden
nebbia=fog*; incontrare il sole=meet the sun; svanire=vanish
nuvola=cloud; diventare troppo pesante=become too heavy; portare la pioggia=bring rain
molla=coil; perdere il suo peso=lose its weight; tornare alla sua forma=return to its shape
vapore m=steam*; toccare un vetro freddo=touch a cold window; condensarsi=condense
frutto=fruit/fruits; passare l'estate sul ramo=spend the summer on the branch; maturare=ripen
maglione m=sweater; bollire in pentola=boil in a pot; restringersi=shrink
"""

#: part of the body; what it does
BODY = """
occhio=eye; vedere i colori=see the colours
orecchio/orecchie:f=ear; sentire i suoni=hear the sounds
naso=nose; annusare gli odori=smell the scents
lingua=tongue; gustare i sapori=taste the flavours
dente m=tooth; masticare il cibo=chew the food
mano/mani f=hand; afferrare gli oggetti=grasp the objects
piede m=foot; camminare sul terreno=walk on the ground
cuore m=heart; pompare il sangue=pump the blood
polmone m=lung; respirare l'aria=breathe the air
stomaco=stomach; digerire i pasti=digest the meals
cervello=brain; formare i pensieri=form the thoughts
pelle f=skin; proteggere il corpo=protect the body
muscolo=muscle; muovere le ossa=move the bones
osso/ossa:f=bone; reggere il peso=bear the weight
rene m=kidney; filtrare i liquidi=filter the liquids
gola=throat; inghiottire i bocconi=swallow the bites
unghia=fingernail; grattare la schiena=scratch the back
ginocchio/ginocchia:f=knee; piegare la gamba=bend the leg
gomito=elbow; piegare il braccio=bend the arm
palpebra=eyelid; coprire l'occhio=cover the eye
"""

#: place; what one does there
PLACES = """
biblioteca=library@in0:in; leggere i romanzi=read the novels
scuola=school@a0:at; imparare l'alfabeto=learn the alphabet
ospedale m=hospital@in0:in; curare le malattie=treat the illnesses
mercato=market@a:at; comprare la verdura=buy the vegetables
cinema/cinema m=cinema@a:at; guardare i film=watch the films
teatro=theatre@a0:at; ascoltare l'opera=listen to the opera
piscina=swimming pool@in0:in; imparare a nuotare=learn to swim
palestra=gym@in0:at; allenare i muscoli=train the muscles
museo=museum@a:at; ammirare le statue=admire the statues
chiesa=church@in0:in; pregare in silenzio=pray in silence
banca=bank@in0:at; depositare il denaro=deposit the money
stazione f=station@in0:at; prendere il treno=catch the train
aeroporto=airport@a:at; salire sull'aereo=board the plane
farmacia=pharmacy@in0:at; comprare le medicine=buy the medicines
bar/bar m=coffee bar@a:at; bere il caffè=drink the coffee
ristorante m=restaurant@a:at; cenare con gli amici=dine with friends
parco=park@a:in; passeggiare tra gli alberi=walk among the trees
spiaggia=beach@in0:on; prendere il sole=lie in the sun
albergo=hotel@in0:in; passare la notte=spend the night
lavanderia=laundry@in0:at; lavare i vestiti=wash the clothes
stadio=stadium@a:at; guardare la partita=watch the match
ufficio postale/uffici postali m=post office@a:at; spedire i pacchi=send the parcels
libreria=bookshop@in0:in; comprare i libri=buy the books
zoo/zoo m=zoo@a:at; vedere i leoni=see the lions
porto=harbour@a:at; noleggiare una barca=rent a boat
municipio=town hall@in0:at; chiedere un documento=ask for a document
circo=circus@a:at; ridere dei pagliacci=laugh at the clowns
bosco=forest; cercare i funghi=look for mushrooms
osteria=tavern@in0:in; assaggiare il vino=taste the wine
"""

#: what towns are known for
PRODUCTS = """
formaggio=cheese*, vino=wine*, olio=oil*, miele m=honey*, arancia=orange, limone m=lemon
castagna=chestnut, oliva=olive, mela=apple, fungo=mushroom, ciliegia=cherry, pesca=peach
fico=fig, tartufo=truffle, campana=bell, cappello=hat, scarpa=shoe, tappeto=carpet
violino=violin, merletto=lace*, coltello=knife, marmo=marble*, seta=silk*, riso=rice*
sale m=salt*, pane m=bread*, cesto=basket, vaso=vase, orologio=clock, pesce m=fish
"""
