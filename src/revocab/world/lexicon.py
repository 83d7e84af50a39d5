"""The everyday words of the world, by the place they can take in a sentence (notation: words.py)."""

#: Things that a person can carry, buy, lose and give.
OBJECTS = """
libro=book, quaderno=exercise book, matita=pencil, giornale m=newspaper, lettera=letter
fotografia=photograph, quadro=picture, specchio=mirror, orologio=clock, anello=ring
collana=necklace, braccialetto=bracelet, cintura=belt, borsa=bag, valigia=suitcase, zaino=rucksack
ombrello=umbrella, cappello=hat, sciarpa=scarf, guanto=glove, scarpa=shoe, stivale m=boot
camicia=shirt, gonna=skirt, vestito=dress, giacca=jacket, cappotto=coat, maglione m=sweater
bottone m=button, fazzoletto=handkerchief, coperta=blanket, lenzuolo/lenzuola:f=sheet
cuscino=pillow, tovaglia=tablecloth, tappeto=carpet, candela=candle, lampada=lamp, chiave f=key
lucchetto=padlock, scatola=box, cesto=basket, bottiglia=bottle, bicchiere m=glass, tazza=cup
piatto=plate, scodella=bowl, vassoio=tray, teiera=teapot, barattolo=jar, sacco=sack, secchio=bucket
corda=rope, martello=hammer, chiodo=nail, coltello=knife, pennello=brush, tavolozza=palette
flauto=flute, chitarra=guitar, violino=violin, tamburo=drum, tromba=trumpet, campanella=handbell
bambola=doll, palla=ball, aquilone m=kite, trottola=spinning top, burattino=puppet
scacchiera=chessboard, mappa=map, bussola=compass, lanterna=lantern, medaglia=medal, moneta=coin
busta=envelope, francobollo=stamp, cartolina=postcard, biglietto=ticket, agenda=diary
dizionario=dictionary, rivista=magazine, vaso=vase, statuetta=figurine, conchiglia=shell
pietra=stone, piuma=feather, ventaglio=fan, pipa=pipe, bastone m=stick
rastrello=rake, annaffiatoio=watering can, gabbia=cage, guinzaglio=leash, sella=saddle
bicicletta=bicycle, slitta=sledge, carriola=wheelbarrow, telescopio=telescope, radio/radio f=radio
cornice f=frame, spilla=brooch, nastro=ribbon, gomitolo=ball of wool
grembiule m=apron, pettine m=comb, spazzola=hairbrush, asciugamano=towel, sapone m=soap bar
portafoglio=wallet, orecchino=earring, sveglia=alarm clock, cavatappi/cavatappi m=corkscrew
ditale m=thimble, scialle m=shawl, ciotola=basin, mestolo=ladle, pestello=pestle, calamaio=inkwell
clessidra=hourglass, cannocchiale m=spyglass, temperino=penknife, lavagnetta=slate tablet, righello=ruler
mantello=cloak, berretto=cap, sandalo=sandal, ciabatta=slipper, calza=stocking, cravatta=tie
fionda=slingshot, altalena=swing, mosaico/mosaici=mosaic, ritratto=portrait, arazzo=tapestry
mandolino=mandolin, fisarmonica=accordion, arpa=harp, armonica=harmonica, nacchera=castanet
ampolla=cruet, damigiana=demijohn, brocca=jug, caraffa=carafe, fiasco=flask, boccale m=tankard
cartella=satchel, opuscolo=leaflet, romanzo=novel, atlante m=atlas, calendario=calendar
"""

#: What one eats, as single things or dishes.
FOODS = """
mela=apple, pera=pear, pesca=peach, ciliegia=cherry, fragola=strawberry, arancia=orange
limone m=lemon, fico=fig, prugna=plum, albicocca=apricot, melone m=melon, anguria=watermelon
castagna=chestnut, noce f=walnut, mandorla=almond, oliva=olive, pomodoro=tomato, patata=potato
carota=carrot, cipolla=onion, zucchina=courgette, zucca=pumpkin, melanzana=aubergine
peperone m=bell pepper, carciofo=artichoke, asparago=asparagus stalk, fungo=mushroom, cavolo=cabbage
fagiolo=bean, pisello=pea, lenticchia=lentil, ravanello=radish, spicchio d'aglio=clove of garlic
uovo/uova:f=egg, frittata=omelette, zuppa=soup, insalata=salad, torta=cake, biscotto=biscuit
focaccia=flatbread, panino=sandwich, polpetta=meatball, salsiccia=sausage, bistecca=steak
crostata=tart, ciambella=doughnut, gelato=ice cream, budino=pudding, caramella=sweet
frittella=fritter, pizza=pizza, raviolo=dumpling, grissino=breadstick, uva=grape
"""

DRINKS = """
latte m=milk*, vino=wine*, acqua=water*, tè/tè m=tea*, caffè/caffè m=coffee*, brodo=broth*
sidro=cider*, cioccolata=chocolate*, birra=beer*, spremuta=fresh juice*, limonata=lemonade*
tisana=herb tea*, orzata=barley water*
"""

PANTRY = """
pane m=bread*, formaggio=cheese*, burro=butter*, miele m=honey*, marmellata=jam*, olio=oil*, riso=rice*
sale m=salt*, pepe m=pepper*, zucchero=sugar*, yogurt/yogurt m=yoghurt*, panna=cream*, aceto=vinegar*
prosciutto=ham*, tonno=tuna*, senape f=mustard*, prezzemolo=parsley*, ricotta=ricotta*, cannella=cinnamon*
"""

ROOMS = """
cucina=kitchen@in0:in, cantina=cellar@in0:in, soffitta=attic@in0:in, camera=bedroom@in0:in
bagno=bathroom@in0:in, soggiorno=living room, corridoio=hallway, salotto=sitting room
cortile m=courtyard, giardino=garden@in0:in, orto=vegetable garden, terrazza=terrace@su:on
balcone m=balcony@su:on, veranda=porch@su:on, ripostiglio=storeroom, officina=workshop@in0:in
fienile m=hayloft, stalla=cowshed, serra=greenhouse, portico=arcade
"""

FURNITURE = """
tavolo=table, sedia=chair, panca=bench, sgabello=stool, armadio=wardrobe, scaffale m=shelf
letto=bed, cassetto=drawer, baule m=trunk, poltrona=armchair, scrivania=desk, credenza=sideboard
davanzale m=windowsill, mensola=ledge, comodino=bedside table, stufa=stove, camino=fireplace
gradino=step, muretto=low wall, botte f=barrel, carretto=cart, zerbino=doormat
"""

#: What one sees out of doors; also where one walks.
LANDSCAPE = """
albero=tree, fiume m=river, ponte m=bridge, collina=hill, montagna=mountain, valle f=valley
lago=lake, cascata=waterfall, sentiero=path, strada=road, campo=field, prato=meadow, bosco=forest
siepe f=hedge, vigneto=vineyard, uliveto=olive grove, frutteto=orchard, mulino=mill, castello=castle
torre f=tower, chiesa=church, campanile m=bell tower, fontana=fountain, piazza=square, pozzo=well
muro/mura:f=wall, cancello=gate, fattoria=farm, capanna=hut, grotta=cave, scogliera=cliff
spiaggia=beach, isola=island, faro=lighthouse, porto=harbour, molo=pier, stagno=pond, palude f=swamp
ruscello=brook, sorgente f=spring, roccia=rock, duna=dune, scalinata=stairway, vicolo=alley
arco=arch, acquedotto=aqueduct, palazzo=palace, villaggio=village, osteria=tavern, tempio/templi=temple
"""

PLANTS = """
rosa=rose, tulipano=tulip, margherita=daisy, viola=violet, girasole m=sunflower, giglio=lily
papavero=poppy, gelsomino=jasmine bush, lavanda=lavender bush, felce f=fern, orchidea=orchid, garofano=carnation
begonia=begonia, geranio=geranium, ortensia=hydrangea, ciclamino=cyclamen, glicine m=wisteria, ginestra=broom plant
quercia=oak, pino=pine, abete m=fir, cipresso=cypress, olmo=elm, betulla=birch, faggio=beech
salice m=willow, pioppo=poplar, ulivo=olive tree, melo=apple tree, ciliegio=cherry tree, fico=fig tree
castagno=chestnut tree, alloro=laurel, basilico=basil plant, rosmarino=rosemary bush, salvia=sage plant
"""

ANIMALS = """
gatto=cat, cane m=dog, gallina=hen, anatra=duck, oca/oche=goose, coniglio=rabbit, capra=goat
pecora=sheep, mucca=cow, asino=donkey, cavallo=horse, tartaruga=tortoise, rana=frog, passero=sparrow
rondine f=swallow, pettirosso=robin, corvo=crow, gabbiano=seagull, merlo=blackbird, farfalla=butterfly
lumaca=snail, lucertola=lizard, riccio=hedgehog, scoiattolo=squirrel, volpe f=fox, cigno=swan
"""

FAMILY = """
nonno|nonna=grandfather|grandmother, zio/zii|zia=uncle|aunt, fratello|sorella=brother|sister
figlio|figlia=son|daughter, cugino|cugina=cousin, amico|amica=friend, vicino|vicina=neighbour
nipote|nipote=nephew|niece, collega|collega=colleague, studente|studentessa=student
cliente|cliente=customer, sindaco|sindaca=mayor, ospite|ospite=guest, ragazzo|ragazza=boy|girl
bambino|bambina=child, pittore|pittrice=painter, signore|signora=gentleman|lady
viaggiatore|viaggiatrice=traveller, straniero|straniera=stranger, padrone|padrona=owner
"""

TRAITS = """
allegro=cheerful, gentile=kind, paziente=patient, curioso=curious, timido=shy, coraggioso=brave
generoso=generous, onesto=honest, pigro=lazy, testardo=stubborn, prudente=careful, distratto=absent-minded
simpatico=likeable, educato=polite, serio=serious, ambizioso=ambitious, modesto=modest, vivace=lively
silenzioso=quiet, saggio=wise, furbo=cunning, elegante=elegant, robusto=sturdy, magro=thin, alto=tall
biondo=blond, affettuoso=affectionate, orgoglioso=proud, ordinato=tidy, puntuale=punctual
ottimista=optimistic, sincero=sincere, leale=loyal, severo=strict, goloso=greedy, spiritoso=witty
"""

MOODS = """
felice=happy, triste=sad, stanco=tired, contento=glad, arrabbiato=angry, sorpreso=surprised
preoccupato=worried, affamato=hungry, assetato=thirsty, emozionato=excited, deluso=disappointed
tranquillo=calm, soddisfatto=satisfied, nervoso=nervous, commosso=moved, annoiato=bored
"""

#: Adjectives of things.
QUALITIES = """
rosso=red, giallo=yellow, verde=green, azzurro=light blue, blu=blue, bianco=white, nero=black
grigio=grey, marrone=brown, rosa!=pink, viola!=purple, arancione=orange, dorato=golden
<grande=big, <piccolo=small, <vecchio=old, <nuovo=new, <bello=beautiful, antico=ancient
rotondo=round, quadrato=square, lungo=long, corto=short, largo=wide, stretto=narrow, leggero=light
pesante=heavy, pulito=clean, sporco=dirty, asciutto=dry, bagnato=wet, rotto=broken, prezioso=precious
semplice=simple, strano=strange, raro=rare, comune=common, costoso=expensive, economico=cheap
robusto=sturdy, fragile=fragile, lucido=polished, opaco=dull, morbido=soft, ruvido=rough
colorato=colourful, decorato=decorated, elegante=elegant, pratico=practical, rustico=rustic
straniero=foreign, magnifico=magnificent, ridicolo=ridiculous, misterioso=mysterious, comodo=comfortable
"""

#: Adjectives of animals.
COLOURS = """
bianco=white, nero=black, grigio=grey, marrone=brown, rossiccio=reddish, <piccolo=small
<grande=big, <vecchio=old, <giovane=young, <bello=beautiful, affamato=hungry, docile=tame
"""

#: Adjectives of landscape.
VIEWS = """
verde=green, silenzioso=silent, stretto=narrow, largo=wide, ripido=steep, <antico=ancient
<vecchio=old, <grande=big, <piccolo=small, <bello=beautiful, lontano=distant, vicino=nearby
tranquillo=peaceful, deserto=deserted, famoso=famous, abbandonato=abandoned, soleggiato=sunny
ombroso=shady, fiorito=flowering, innevato=snowy, polveroso=dusty, roccioso=rocky, incantevole=charming
selvaggio=wild, isolato=isolated, affollato=crowded, umido=damp, nebbioso=foggy
"""

TASTES = """
dolce=sweet, fresco=fresh, maturo=ripe, saporito=tasty, amaro=bitter
freddo=cold, gustoso=appetising, leggero=light, profumato=fragrant, croccante=crunchy, delicato=delicate
nutriente=nourishing, morbido=soft, salato=salty, genuino=wholesome, tenero=tender, secco=dry
"""

#: Daily actions of people (any person, any time).
ACTIONS = """
leggere un libro=read a book, scrivere una lettera=write a letter, bere un caffè=drink a coffee
preparare la cena=prepare the supper, cucinare il pranzo=cook the lunch, lavare i piatti=wash the dishes
pulire la cucina=clean the kitchen, spazzare il cortile=sweep the courtyard, rifare il letto=make the bed
stendere il bucato=hang out the laundry, stirare una camicia=press a shirt, cucire un bottone=sew on a button
innaffiare i fiori=water the flowers, raccogliere le mele=pick the apples, piantare un albero=plant a tree
tagliare la legna=chop the firewood, accendere il camino=light the fireplace, chiudere le finestre=close the windows
aprire la porta=open the door, salutare i vicini=greet the neighbours, chiamare un amico=call a friend
suonare la chitarra=play the guitar, cantare una canzone=sing a song, ballare in piazza=dance in the square
disegnare un paesaggio=draw a landscape, dipingere una barca=paint a boat, giocare a carte=play cards
risolvere un enigma=solve a riddle, ascoltare la radio=listen to the radio, guardare le stelle=watch the stars
riparare la bicicletta=repair the bicycle, cercare le chiavi=look for the keys, contare le monete=count the coins
comprare il pane=buy the bread, vendere le uova=sell the eggs, mungere la capra=milk the goat
nutrire le galline=feed the hens, spazzolare il cavallo=brush the horse, portare a spasso il cane=walk the dog
passeggiare lungo il fiume=walk along the river, nuotare nel lago=swim in the lake, pescare una trota=catch a trout
correre nel parco=run in the park, salire sulla collina=climb the hill, visitare il castello=visit the castle
imparare una poesia=learn a poem, raccontare una storia=tell a story, studiare la geografia=study geography
spedire un pacco=send a parcel, prendere il treno=take the train, aspettare l'autobus=wait for the bus
assaggiare la minestra=taste the soup, affettare il formaggio=slice the cheese, sbucciare una pera=peel a pear
grattugiare una carota=grate a carrot, friggere le patate=fry the potatoes, sfornare una torta=bake a cake
apparecchiare la tavola=set the table, riordinare gli scaffali=tidy the shelves, lucidare le scarpe=polish the shoes
costruire una capanna=build a hut, scolpire una statua=carve a statue, lavorare a maglia=do the knitting
fotografare il tramonto=photograph the sunset, festeggiare il compleanno=celebrate the birthday
aiutare la nonna=help grandmother, curare un gattino=look after a kitten, difendere un compagno=defend a classmate
dondolare la culla=rock the cradle, incollare una figurina=glue a sticker, nascondere un regalo=hide a present
scegliere un vestito=choose a dress, provare un cappello=try on a hat, pettinare i capelli=comb the hair
"""

#: More of them, each with a verb of its own.
MORE_ACTIONS = """
abbracciare un parente=embrace a relative, accompagnare gli ospiti=accompany the guests
addestrare un puledro=train a foal, affilare le forbici=sharpen the scissors, aggiungere il sale=add the salt
allungare la tenda=lengthen the curtain, annodare un fazzoletto=knot a handkerchief, applaudire gli attori=applaud the actors
arrotolare i tappeti=roll up the carpets, ascoltare il vento=listen to the wind, attraversare la valle=cross the valley
avvolgere il filo=wind the thread, baciare la fronte=kiss the forehead, bollire le castagne=boil the chestnuts
calcolare il prezzo=calculate the price, caricare il carro=load the wagon, chiacchierare con i clienti=chat with the customers
colorare le uova=colour the eggs, combattere le zanzare=fight the mosquitoes, commentare la notizia=comment on the news
confrontare i risultati=compare the results, consultare un'enciclopedia=consult an encyclopedia
copiare una ricetta=copy a recipe, correggere gli esercizi=correct the exercises, cronometrare la corsa=time the race
dettare una frase=dictate a sentence, digitare un messaggio=type a message, dimostrare un teorema=prove a theorem
discutere di politica=discuss politics, distribuire i biscotti=hand out the biscuits, dividere il pane=share the bread
elencare le capitali=list the capitals, esplorare la grotta=explore the cave, fabbricare un giocattolo=make a toy
filare la lana=spin the wool, frequentare un corso=attend a course, gettare la spazzatura=throw away the rubbish
gonfiare un pallone=inflate a balloon, imbiancare la facciata=whitewash the front, impacchettare i doni=wrap the gifts
indovinare la risposta=guess the answer, insegnare una canzone=teach a song, interpretare un sogno=interpret a dream
invitare i cugini=invite the cousins, lanciare un sasso=throw a stone, liberare un uccellino=free a little bird
masticare una radice=chew a root, mescolare la polenta=stir the porridge, montare la tenda=put up the tent
noleggiare una canoa=rent a canoe, ordinare una pizza=order a pizza, organizzare una gita=organise an outing
origliare alla porta=eavesdrop at the door, pagare il conto=pay the bill, parcheggiare il furgone=park the van
partecipare alla gara=take part in the contest, piegare le lenzuola=fold the sheets, potare la vite=prune the vine
pronunciare un discorso=make a speech, progettare una barca=design a boat, recitare una commedia=act in a comedy
rimproverare il gatto=scold the cat, ringraziare il maestro=thank the teacher, rispettare le regole=respect the rules
risparmiare il denaro=save the money, rovesciare il latte=spill the milk, sbattere le uova=whisk the eggs
scaldare la stanza=heat the room, scavare un pozzo=dig a well, sciogliere il burro=melt the butter
scoprire un segreto=discover a secret, seguire le tracce=follow the tracks, sfogliare una rivista=leaf through a magazine
sognare un viaggio=dream of a journey, sorvegliare il cancello=watch over the gate, spremere le arance=squeeze the oranges
stampare un manifesto=print a poster, stringere la mano=shake hands, superare l'esame=pass the exam
sussurrare una parola=whisper a word, tagliare il prato=mow the lawn, tradurre una lettera=translate a letter
trascorrere le vacanze=spend the holidays, trasportare i mattoni=transport the bricks, tessere una coperta=weave a blanket
urlare di gioia=shout with joy, vendemmiare le vigne=harvest the vineyards, verniciare la ringhiera=varnish the railing
viaggiare in treno=travel by train, vincere la partita=win the match, zappare la terra=hoe the soil
zuccherare le fragole=sugar the strawberries, sigillare la busta=seal the envelope, allacciare le scarpe=lace up the shoes
"""

#: What one does and needs no object for.
REST = """
svegliarsi presto=wake up early, lavarsi con l'acqua fredda=wash with cold water, vestirsi in fretta=dress in a hurry
sedersi in giardino=sit in the garden, riposarsi un poco=rest a little, addormentarsi subito=fall asleep at once
alzarsi tardi=get up late, fermarsi a parlare=stop to talk, divertirsi molto=enjoy the day, perdersi nel bosco=get lost in the forest
uscire di casa=leave the house, tornare a casa=go back home, partire all'alba=leave at dawn
arrivare in ritardo=arrive late, restare a letto=stay in bed, entrare in chiesa=enter the church
andare al mercato=go to the market, scendere in cantina=go down to the cellar, rimanere in silenzio=remain in silence
"""

#: What one does with a thing.
HANDLING = """
comprare=buy, vendere=sell, portare=carry, prendere=take, nascondere=hide, riparare=repair
pulire=clean, cercare=look for, disegnare=draw, scegliere=choose, regalare=give away, mostrare=show
prestare=lend, conservare=keep, fotografare=photograph, dipingere=paint, usare=use, vedere=see
ammirare=admire, toccare=touch, spostare=move, misurare=measure, pesare=weigh, decorare=decorate
sistemare=arrange, osservare=observe, descrivere=describe, sollevare=lift, restituire=return
controllare=check, riconoscere=recognise, custodire=guard, offrire=offer, esaminare=examine
scambiare=swap, proteggere=protect, trascinare=drag, ricordare=remember, lodare=praise
"""

#: What animals do.
ANIMAL_DOES = """
dormire all'ombra=sleep in the shade, correre sul prato=run across the meadow, bere dal ruscello=drink from the brook
nascondersi dietro la siepe=hide behind the hedge, cercare il cibo=look for food, giocare con i piccoli=play with the young
riposare sotto un albero=rest under a tree, avvicinarsi alla casa=come near the house, fuggire dal cane=flee from the dog
saltare il fosso=jump over the ditch, guardare il fiume=watch the river, attraversare il sentiero=cross the path
svegliarsi all'alba=wake up at dawn, muovere la coda=move its tail, annusare l'aria=sniff the air
"""

WEATHER = """
il sole splende=the sun shines, piove forte=it rains hard, il vento soffia dal mare=the wind blows from the sea
nevica lentamente=it snows slowly, il cielo è sereno=the sky is clear, la nebbia copre i campi=the fog covers the fields
fa molto caldo=it is very hot, fa freddo=it is cold, le nuvole sono basse=the clouds are low
il temporale si avvicina=the storm is coming near, l'aria è fresca=the air is fresh
la luna illumina i tetti=the moon lights up the roofs, la grandine batte sui vetri=the hail beats on the windows
"""

WHEN = """
ieri=yesterday, stamattina=this morning, l'altro giorno=the other day, la settimana scorsa=last week
il mese scorso=last month, ieri sera=last night, l'anno scorso=last year, domenica scorsa=last Sunday
due giorni fa=two days ago, l'estate scorsa=last summer, un mese fa=a month ago
"""

OFTEN = """
ogni settimana=every week, ogni giorno=every day, la domenica=on Sundays
il lunedì=on Mondays, il martedì=on Tuesdays, il mercoledì=on Wednesdays, il giovedì=on Thursdays
il venerdì=on Fridays, il sabato=on Saturdays, d'inverno=in winter, d'estate=in summer
in autunno=in autumn, in primavera=in spring, a gennaio=in January, a febbraio=in February
a marzo=in March, ad aprile=in April, a maggio=in May, a giugno=in June, a luglio=in July
ad agosto=in August, a settembre=in September, a ottobre=in October, a novembre=in November
a dicembre=in December, a Natale=at Christmas, a Pasqua=at Easter
"""

SOON = """
domani=tomorrow, la settimana prossima=next week, l'anno prossimo=next year, presto=soon
dopodomani=the day after tomorrow, tra un mese=in a month, stasera=tonight, più tardi=later
"""

#: How rivers run.
FLOW = """
lentamente=slowly, velocemente=quickly, placidamente=placidly, dolcemente=gently, rapidamente=rapidly
silenziosamente=silently, allegramente=cheerfully, tranquillamente=calmly, pigramente=lazily
"""

HOURS = """
dopo pranzo=after lunch, prima di cena=before supper, a mezzogiorno=at noon, al tramonto=at sunset
all'alba=at dawn, nel pomeriggio=in the afternoon, ogni mattina=every morning, ogni sera=every evening
di notte=at night, nelle ore libere=in free hours
"""

HOW = """
lentamente=slowly, velocemente=quickly, volentieri=gladly, con cura=with care, in silenzio=in silence
in fretta=in a hurry, con pazienza=with patience, insieme agli amici=together with friends
con grande gioia=with great joy, senza fatica=without effort, con attenzione=with attention
"""
