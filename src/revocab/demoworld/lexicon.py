"""What the world holds, and how facts are stated and asked, in both languages: entries are data,
which :mod:`grammar` inflects and :mod:`stories` fills in.

A noun reads ``word gender = english``; a pair of clauses reads ``italian = english``. A wording is
a head, ``name | subject | pool | answer``, then statements (``.``), questions (``?``); a name in
braces stands for what it is in that language, with a capital for its beginning in upper case.
"""

from __future__ import annotations

#: Job (masculine; feminine; English), workplace, tool, what is done (third person; infinitive).
JOBS = """
panettiere m = baker | panettiera f | panificio m = bakery | pala f = peel | sforna il pane = bakes bread | sfornare il pane = bake bread
falegname m = carpenter | falegname f | falegnameria f = woodshop | pialla f = plane | costruisce le sedie = builds chairs | costruire le sedie = build chairs
medico m = doctor | dottoressa f | ospedale m = hospital | stetoscopio m = stethoscope | cura i malati = treats the sick | curare i malati = treat the sick
maestro m = teacher | maestra f | scuola f = school | lavagna f = blackboard | insegna ai bambini = teaches the children | insegnare ai bambini = teach the children
contadino m = farmer | contadina f | fattoria f = farm | aratro m = plough | coltiva il grano = grows wheat | coltivare il grano = grow wheat
pescatore m = fisherman | pescatrice f | porto m = harbour | rete f = net | prende il pesce = catches fish | prendere il pesce = catch fish
cuoco m = cook | cuoca f | cucina f = kitchen | padella f = pan | prepara la cena = prepares dinner | preparare la cena = prepare dinner
sarto m = tailor | sarta f | sartoria f = tailoring shop | ago m = needle | cuce i vestiti = sews clothes | cucire i vestiti = sew clothes
fabbro m = blacksmith | fabbra f | fucina f = forge | incudine f = anvil | forgia il ferro = forges iron | forgiare il ferro = forge iron
bibliotecario m = librarian | bibliotecaria f | biblioteca f = library | catalogo m = catalogue | presta i libri = lends books | prestare i libri = lend books
barbiere m = barber | barbiera f | salone m = salon | rasoio m = razor | taglia i capelli = cuts hair | tagliare i capelli = cut hair
postino m = postman | postina f | posta f = post office | borsa f = bag | consegna le lettere = delivers letters | consegnare le lettere = deliver letters
pittore m = painter | pittrice f | studio m = studio | pennello m = paintbrush | dipinge i quadri = paints pictures | dipingere i quadri = paint pictures
meccanico m = mechanic | meccanica f | officina f = garage | chiave_inglese f = wrench | ripara le macchine = repairs cars | riparare le macchine = repair cars
giardiniere m = gardener | giardiniera f | giardino m = garden | rastrello m = rake | cura i fiori = tends the flowers | curare i fiori = tend the flowers
muratore m = bricklayer | muratrice f | cantiere m = building site | cazzuola f = trowel | costruisce i muri = builds walls | costruire i muri = build walls
pastore m = shepherd | pastora f | pascolo m = pasture | bastone m = staff | guida le pecore = leads the sheep | guidare le pecore = lead the sheep
apicoltore m = beekeeper | apicoltrice f | apiario m = apiary | affumicatore m = smoker | raccoglie il miele = gathers honey | raccogliere il miele = gather honey
attore m = actor | attrice f | teatro m = theatre | maschera f = mask | recita la commedia = performs the comedy | recitare la commedia = perform the comedy
astronomo m = astronomer | astronoma f | osservatorio m = observatory | telescopio m = telescope | studia le stelle = studies the stars | studiare le stelle = study the stars
minatore m = miner | minatrice f | miniera f = mine | piccone m = pickaxe | estrae il carbone = digs coal | estrarre il carbone = dig coal
farmacista m = pharmacist | farmacista f | farmacia f = pharmacy | bilancia f = scale | vende le medicine = sells medicines | vendere le medicine = sell medicines
orologiaio m = watchmaker | orologiaia f | bottega f = workshop | lente f = lens | aggiusta gli orologi = fixes watches | aggiustare gli orologi = fix watches
marinaio m = sailor | marinaia f | nave f = ship | bussola f = compass | attraversa il mare = crosses the sea | attraversare il mare = cross the sea
"""

#: Animal, sound, food, home, class, covering, young; ``-`` where there is nothing to say.
ANIMALS = """
gatto m = cat | miagola = meows | i topi = mice | in casa = in the house | un mammifero = a mammal | il pelo = fur | il gattino = the kitten
cane m = dog | abbaia = barks | gli ossi = bones | nella cuccia = in the kennel | un mammifero = a mammal | il pelo = fur | il cucciolo = the puppy
mucca f = cow | muggisce = moos | l'erba = grass | nella stalla = in the cowshed | un mammifero = a mammal | il pelo = fur | il vitello = the calf
pecora f = sheep | bela = bleats | il fieno = hay | nell'ovile = in the fold | un mammifero = a mammal | la lana = wool | l'agnello = the lamb
cavallo m = horse | nitrisce = neighs | l'avena = oats | nella scuderia = in the stable | un mammifero = a mammal | il crine = horsehair | il puledro = the foal
gallina f = hen | chioccia = clucks | i semi = seeds | nel pollaio = in the henhouse | un uccello = a bird | le piume = feathers | il pulcino = the chick
anatra f = duck | starnazza = quacks | le alghe = algae | nello stagno = in the pond | un uccello = a bird | le piume = feathers | l'anatroccolo = the duckling
leone m = lion | ruggisce = roars | le gazzelle = gazelles | nella savana = in the savanna | un mammifero = a mammal | la criniera = a mane | il leoncino = the lion cub
lupo m = wolf | ulula = howls | i cervi = deer | nella tana = in the den | un mammifero = a mammal | il pelo = fur | il lupacchiotto = the wolf cub
ape f = bee | ronza = buzzes | il nettare = nectar | nell'alveare = in the hive | un insetto = an insect | i peli corti = short hairs | la larva = the grub
rana f = frog | gracida = croaks | le mosche = flies | nella palude = in the marsh | un anfibio = an amphibian | la pelle umida = wet skin | il girino = the tadpole
serpente m = snake | sibila = hisses | le uova = eggs | tra le rocce = among the rocks | un rettile = a reptile | le squame = scales | il serpentello = the snakelet
gufo m = owl | bubola = hoots | i pipistrelli = bats | nel tronco cavo = in the hollow trunk | un uccello = a bird | le piume = feathers | -
maiale m = pig | grugnisce = grunts | le ghiande = acorns | nel porcile = in the sty | un mammifero = a mammal | le setole = bristles | il maialino = the piglet
asino m = donkey | raglia = brays | i cardi = thistles | sulla collina = on the hill | un mammifero = a mammal | il pelo = fur | l'asinello = the young donkey
elefante m = elephant | barrisce = trumpets | le foglie = leaves | nella giungla = in the jungle | un mammifero = a mammal | la pelle spessa = thick skin | l'elefantino = the elephant calf
trota f = trout | - | i vermi = worms | nel torrente = in the stream | un pesce = a fish | le squame = scales | l'avannotto = the fry
corvo m = crow | gracchia = caws | le bacche = berries | sul campanile = on the bell tower | un uccello = a bird | le penne nere = black feathers | -
grillo m = cricket | frinisce = chirps | le radici = roots | nel prato = in the meadow | un insetto = an insect | la corazza = a hard shell | la ninfa = the nymph
orso m = bear | bramisce = growls | il miele = honey | nella grotta = in the cave | un mammifero = a mammal | la pelliccia = thick fur | l'orsacchiotto = the bear cub
colomba f = dove | tuba = coos | le briciole = crumbs | sul tetto = on the roof | un uccello = a bird | le piume = feathers | -
topo m = mouse | squittisce = squeaks | il formaggio = cheese | nella cantina = in the cellar | un mammifero = a mammal | il pelo = fur | il topolino = the baby mouse
"""

#: Tool and what it is for (a + infinitive; to + infinitive); what one gets done.
TOOLS = """
sega f = saw | tagliare il legno = cut wood
martello m = hammer | piantare i chiodi = drive nails
trapano m = drill | forare il muro = drill the wall
scopa f = broom | spazzare il pavimento = sweep the floor
ombrello m = umbrella | ripararsi dalla pioggia = keep off the rain
lampada f = lamp | illuminare la stanza = light the room
coltello m = knife | affettare le verdure = slice vegetables
cucchiaio m = spoon | mangiare la zuppa = eat soup
termometro m = thermometer | misurare la febbre = measure a fever
orologio m = clock | leggere l'ora = tell the time
scala f = ladder | salire sul tetto = climb onto the roof
chiave f = key | aprire la porta = open the door
secchio m = bucket | portare l'acqua = carry water
vanga f = spade | scavare una buca = dig a hole
penna f = pen | scrivere una lettera = write a letter
pettine m = comb | sciogliere i nodi = untangle knots
sapone m = soap | lavarsi le mani = wash hands
asciugamano m = towel | asciugarsi il viso = dry the face
microscopio m = microscope | vedere le cellule = see cells
ferro_da_stiro m = iron | stirare le camicie = press shirts
setaccio m = sieve | separare la farina = sift flour
corda f = rope | legare la barca = tie up the boat
carriola f = wheelbarrow | trasportare i mattoni = move bricks
imbuto m = funnel | riempire la bottiglia = fill the bottle
pinza f = pincer | piegare il filo = bend the wire
metro m = tape measure | misurare la tavola = measure the board
spugna f = sponge | pulire i piatti = clean the dishes
mestolo m = ladle | versare il brodo = pour the broth
falce f = sickle | mietere il grano = reap the wheat
grattugia f = grater | grattugiare il formaggio = grate the cheese
specchio m = mirror | guardarsi il volto = look at the face
innaffiatoio m = watering can | bagnare le piante = water the plants
"""

#: Material and its property (adjective with ending o/a as the gender asks, invariable in e).
MATERIALS = """
vetro m = glass | trasparente = transparent | la finestra = the window
gomma f = rubber | elastica = elastic | lo pneumatico = the tyre
ferro m = iron | pesante = heavy | il cancello = the gate
sughero m = cork | leggero = light | il tappo = the stopper
lana f = wool | calda = warm | il maglione = the sweater
oro m = gold | prezioso = precious | la corona = the crown
carta f = paper | sottile = thin | il quaderno = the notebook
pietra f = stone | dura = hard | il muro = the wall
seta f = silk | liscia = smooth | la sciarpa = the scarf
cera f = wax | morbida = soft | la candela = the candle
rame m = copper | rossastro = reddish | il filo elettrico = the electric wire
legno m = wood | infiammabile = flammable | il tavolo = the table
argilla f = clay | malleabile = pliable | il vaso = the vase
acciaio m = steel | robusto = strong | il ponte = the bridge
cuoio m = leather | resistente = tough | la scarpa = the shoe
"""

#: Fruit or vegetable, colour, where it grows.
FRUITS = """
limone m = lemon | giallo = yellow | sull'albero = on a tree
fragola f = strawberry | rossa = red | vicino a terra = near the ground
carota f = carrot | arancione = orange | sotto terra = under the ground
melanzana f = aubergine | viola = purple | nell'orto = in the vegetable garden
oliva f = olive | verde = green | sull'ulivo = on the olive tree
mora f = blackberry | nera = black | sul rovo = on the bramble
mirtillo m = blueberry | blu = blue | nel sottobosco = in the undergrowth
castagna f = chestnut | marrone = brown | nel riccio = in a spiny husk
cavolfiore m = cauliflower | bianco = white | nel campo = in the field
lampone m = raspberry | rosa = pink | sul cespuglio = on a bush
"""

#: Condition and what follows (both as clauses after quando / when).
PHYSICS = """
il ghiaccio sta al sole = ice stays in the sun | si scioglie = it melts
l'acqua bolle a lungo = water boils for long | diventa vapore = it becomes steam
l'acqua resta al gelo = water stays in the frost | diventa ghiaccio = it becomes ice
un sasso cade nello stagno = a stone falls into the pond | affonda = it sinks
un tappo di sughero cade in acqua = a cork falls into water | galleggia = it floats
la carta tocca il fuoco = paper touches fire | brucia = it burns
un bicchiere cade per terra = a glass falls to the floor | si rompe = it breaks
il ferro resta sotto la pioggia = iron stays in the rain | arrugginisce = it rusts
lo zucchero finisce nel tè = sugar goes into tea | si dissolve = it dissolves
il pane resta nel forno troppo a lungo = bread stays in the oven too long | diventa nero = it turns black
una pianta resta senza acqua = a plant stays without water | appassisce = it withers
il sole tramonta = the sun sets | il cielo diventa scuro = the sky grows dark
il vento soffia forte = the wind blows hard | gli alberi si piegano = the trees bend
una palla di gomma cade = a rubber ball falls | rimbalza = it bounces
la calamita si avvicina al chiodo = a magnet comes near a nail | lo attira = it attracts it
il latte resta fuori dal frigorifero = milk stays out of the fridge | diventa acido = it turns sour
il metallo si scalda molto = metal gets very hot | si dilata = it expands
una candela resta senza aria = a candle stays without air | si spegne = it goes out
la neve copre la strada = snow covers the road | la strada diventa scivolosa = the road becomes slippery
il vino resta aperto per mesi = wine stays open for months | diventa aceto = it becomes vinegar
un seme cade nella terra umida = a seed falls into moist soil | germoglia = it sprouts
un palloncino incontra uno spillo = a balloon meets a pin | scoppia = it bursts
la sabbia finisce nell'acqua = sand ends up in water | scende sul fondo = it goes down to the bottom
la luna passa davanti al sole = the moon passes before the sun | c'è un'eclissi = there is an eclipse
"""

#: Where one does what (impersonal; English with people).
PLACES = """
al mercato = at the market | si compra la frutta = people buy fruit
alla stazione = at the station | si prende il treno = people take the train
in banca = at the bank | si cambia il denaro = people change money
al museo = at the museum | si guardano le statue = people look at statues
in piscina = at the pool | si impara a nuotare = people learn to swim
allo stadio = at the stadium | si gioca a pallone = people play football
in chiesa = at the church | si suona l'organo = people play the organ
al cinema = at the cinema | si vedono i film = people watch films
in lavanderia = at the laundry | si lavano le coperte = people wash blankets
al mulino = at the mill | si macina il grano = people grind wheat
in tribunale = at the court | si giudicano i ladri = people judge thieves
all'aeroporto = at the airport | si parte in aereo = people leave by plane
in palestra = at the gym | si fa ginnastica = people do exercises
alla fontana = at the fountain | si riempiono le brocche = people fill jugs
al municipio = at the town hall | si incontra il sindaco = people meet the mayor
dal gelataio = at the ice cream parlour | si mangia il gelato = people eat ice cream
"""

#: Body part (with con) and what it does.
BODY = """
con gli occhi = with the eyes | si vede = people see
con le orecchie = with the ears | si sente = people hear
con il naso = with the nose | si annusa = people smell
con i denti = with the teeth | si mastica = people chew
con i polmoni = with the lungs | si respira = people breathe
con le gambe = with the legs | si cammina = people walk
con il cervello = with the brain | si pensa = people think
con le mani = with the hands | si afferra = people grasp
con lo stomaco = with the stomach | si digerisce = people digest
con la lingua = with the tongue | si assaggia = people taste
"""

#: Adjectives for people: masculine, feminine, English.
MOODS = """
stanco stanca tired
contento contenta happy
curioso curiosa curious
tranquillo tranquilla calm
nervoso nervosa nervous
orgoglioso orgogliosa proud
preoccupato preoccupata worried
allegro allegra cheerful
"""

#: Time phrases.
TIMES = """
ogni mattina = every morning
ogni giorno = every day
ogni pomeriggio = every afternoon
ogni sera = every evening
d'estate = in summer
d'inverno = in winter
in primavera = in spring
in autunno = in autumn
la domenica = on Sundays
il lunedì = on Mondays
"""
#: Wordings of facts, by what these are about.
JOB = """
job-place | professions | job-place | {place.nel} = in {place.the}
. {job.The} lavora {place.nel}. = {job.The} works in {place.the}.
. {job.The} passa la giornata {place.nel}. = {job.The} spends the day in {place.the}.
? Dove lavora {job.the}? = Where does {job.the} work?
? In quale luogo lavora {job.the}? = In which place does {job.the} work?
? Dove si trova al lavoro {job.the}? = Where is {job.the} at work?

job-tool | professions | job-tool | {tool.the} = {tool.the}
. {job.The} usa {tool.the}. = {job.The} uses {tool.the}.
. {tool.The} è l'attrezzo {job.del_}. = {tool.The} is the tool of {job.the}.
? Che cosa usa {job.the}? = What does {job.the} use?
? Quale attrezzo usa {job.the}? = Which tool does {job.the} use?
? Con che cosa lavora {job.the}? = What does {job.the} work with?

job-does | professions | job-does | {does} = {does}
. {job.The} {does}. = {job.The} {does}.
. Il mestiere {job.del_} è {to_do}. = The trade of {job.the} is to {to_do}.
? Che cosa fa {job.the}? = What does {job.the} do?
? Che lavoro fa {job.the}? = What work does {job.the} do?
? Di che cosa si occupa {job.the}? = What is {job.the} busy with?
"""

ANIMAL = """
animal-sound | biology | animal-sound | {sound} = {sound}
. {animal.The} {sound}. = {animal.The} {sound}.
? Che verso fa {animal.the}? = What sound does {animal.the} make?
? Come si fa sentire {animal.the}? = How does {animal.the} make itself heard?
? Qual è la voce {animal.del_}? = What is the voice of {animal.the}?

animal-food | biology | animal-food | {food} = {food}
. {animal.The} mangia {food}. = {animal.The} eats {food}.
? Che cosa mangia {animal.the}? = What does {animal.the} eat?
? Di che cosa si nutre {animal.the}? = What does {animal.the} feed on?
? Qual è il cibo {animal.del_}? = What is the food of {animal.the}?

animal-home | biology | animal-home | {home} = {home}
. {animal.The} vive {home}. = {animal.The} lives {home}.
. {animal.The} dorme {home}. = {animal.The} sleeps {home}.
? Dove vive {animal.the}? = Where does {animal.the} live?
? Dove dorme {animal.the}? = Where does {animal.the} sleep?
? Dove si trova {animal.the}? = Where is {animal.the} found?

animal-class | biology | animal-class | {kind} = {kind}
. {animal.The} è {kind}. = {animal.The} is {kind}.
? Che animale è {animal.the}? = What kind of animal is {animal.the}?
? A quale classe appartiene {animal.the}? = To which class does {animal.the} belong?
? Che cos'è {animal.the}? = What is {animal.the}?

animal-cover | biology | animal-cover | {cover} = {cover}
. {animal.The} ha {cover}. = {animal.The} has {cover}.
? Che cosa copre il corpo {animal.del_}? = What covers the body of {animal.the}?
? Che cosa ha {animal.the} sul corpo? = What does {animal.the} have on its body?
? Che cosa protegge {animal.the} dal freddo? = What protects {animal.the} from cold?

animal-young | biology | animal-young | {young} = {young}
. Il piccolo {animal.del_} è {young}. = The young of {animal.the} is {young}.
? Come si chiama il piccolo {animal.del_}? = What is the young of {animal.the} called?
? Chi è il figlio {animal.del_}? = Who is the child of {animal.the}?
? Quale cucciolo ha {animal.the}? = Which young does {animal.the} have?
"""

TOOL = """
tool | tools | tool | {tool.the} = {tool.the}
. {tool.The} serve a {to_do}. = {tool.The} is used to {to_do}.
. Per {to_do} si usa {tool.the}. = To {to_do} people use {tool.the}.
? Che cosa serve per {to_do}? = What is needed to {to_do}?
? Che cosa si usa per {to_do}? = What is used to {to_do}?
? Con che cosa si può {to_do}? = With what can people {to_do}?
"""

MATERIAL = """
material | physics | material-{material.gender} | {quality} = {quality}
. {material.The} è {quality}. = {material.Word} is {quality}.
? Com'è {material.the}? = What is {material.word} like?
? Quale qualità ha {material.the}? = Which quality does {material.word} have?
? Come si presenta {material.the}? = How does {material.word} present itself?

made | physics | made | {material.of} = {material.of}
. {Thing} è {material.of}. = {Thing} is made {material.of}.
? Di che materiale è {thing}? = What material is {thing} made of?
? Di che cosa è {thing}? = What is {thing} made of?
"""

FRUIT = """
fruit-colour | biology | colour | {looks} = {looks}
. {fruit.The} è {looks}. = {fruit.The} is {looks}.
? Di che colore è {fruit.the}? = What colour is {fruit.the}?
? Quale colore ha {fruit.the}? = Which colour does {fruit.the} have?

fruit-place | biology | fruit-place | {grows} = {grows}
. {fruit.The} cresce {grows}. = {fruit.The} grows {grows}.
? Dove cresce {fruit.the}? = Where does {fruit.the} grow?
? In quale posto cresce {fruit.the}? = In which place does {fruit.the} grow?
"""

ON_PHYSICS = """
physics | physics | physics | {then} = {then}
. Quando {when}, {then}. = When {when}, {then}.
. Se {when}, {then}. = If {when}, {then}.
? Che cosa succede quando {when}? = What happens when {when}?
? Che cosa accade se {when}? = What occurs if {when}?
? Quale effetto si vede se {when}? = Which effect is seen if {when}?
"""

PLACE = """
place | society | place | {place} = {place}
. {Place} {act}. = {Place} {act}.
. {Act} {place}. = {Act} {place}.
? Dove {act}? = Where do {act}?
? In quale luogo {act}? = In which place do {act}?
"""

ON_BODY = """
body | medicine | body | {place} = {place}
. {Place} {act}. = {Place} {act}.
. {Act} {place}. = {Act} {place}.
? Con che cosa {act}? = With what do {act}?
? Con quale parte del corpo {act}? = With which part of the body do {act}?
"""

RIVER = """
river | geography | river | {river} = {river}
. {town} si trova sul fiume {river}. = {town} lies on the river {river}.
. Il fiume {river} attraversa {town}. = The river {river} crosses {town}.
? Come si chiama il fiume di {town}? = What is the river of {town} called?
? Quale fiume attraversa {town}? = Which river crosses {town}?
"""

#: What happens in stories, an entry each: ``name | italian = english``.
SENTENCES = """
introduction | {person.full} è {role.a} di {town}. = {person.full} is {role.a} from {town}.
to_work | {Time} {person.name} va {place.al}. = {Time} {person.name} goes to {place.the}.
at_work | Lì {person.name} {does}. = There {person.name} {does}.
with_tool | Per {to_do} usa {tool.the}. = To {to_do} {he} uses {tool.the}.
pet | {person.name} ha {animal.a} che si chiama {name}. = {person.name} has {animal.a} called {name}.
feeling | {Time} {person.name} è {mood}. = {Time} {person.name} is {mood}.
birth | È nat{person.o} a {town}. = {He} was born in {town}.
bought | Ieri {person.name} è andat{person.o} al mercato di {town} e ha comprato {fruit.a}. = Yesterday {person.name} went to the market of {town} and bought {fruit.a}.
needs_tool | {person.name} vuole {use} e prende {tool.the}. = {person.name} wants to {use} and takes {tool.the}.
meets | La sera incontra {other.name}, {role.the} del paese. = In the evening {he} meets {other.name}, {role.the} of the village.
"""

Text = dict[str, str]


def rows(block: str) -> list[list[str]]:
    return [[part.strip() for part in line.split("|")] for line in block.strip().splitlines()]


def pair(text: str) -> Text:
    italian, _, english = text.partition("=")
    return {"it": italian.strip(), "en": english.strip()}
