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
flauto=flute, chitarra=guitar, violino=violin, tamburo=drum, tromba=trumpet, campanella=small bell
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
"""

#: What one eats, as single things or dishes.
FOODS = """
mela=apple, pera=pear, pesca=peach, ciliegia=cherry, fragola=strawberry, arancia=orange
limone m=lemon, fico=fig, prugna=plum, albicocca=apricot, melone m=melon, anguria=watermelon
castagna=chestnut, noce f=walnut, mandorla=almond, oliva=olive, pomodoro=tomato, patata=potato
carota=carrot, cipolla=onion, zucchina=courgette, zucca=pumpkin, melanzana=aubergine
peperone m=pepper, carciofo=artichoke, asparago=asparagus stalk, fungo=mushroom, cavolo=cabbage
fagiolo=bean, pisello=pea, lenticchia=lentil, ravanello=radish, spicchio d'aglio=clove of garlic
uovo/uova:f=egg, frittata=omelette, zuppa=soup, insalata=salad, torta=cake, biscotto=biscuit
focaccia=flatbread, panino=sandwich, polpetta=meatball, salsiccia=sausage, bistecca=steak
crostata=tart, ciambella=doughnut, gelato=ice cream, budino=pudding, caramella=sweet
frittella=fritter, pizza=pizza, raviolo=dumpling, grissino=breadstick, uva=grape
"""

#: Mass food and drink.
DRINKS = """
pane m=bread*, latte m=milk*, vino=wine*, acqua=water*, tè/tè m=tea*, caffè/caffè m=coffee*
formaggio=cheese*, burro=butter*, miele m=honey*, marmellata=jam*, olio=oil*, riso=rice*
farina=flour*, sale m=salt*, zucchero=sugar*, brodo=broth*, yogurt/yogurt m=yoghurt*, sidro=cider*
cioccolata=chocolate*, panna=cream*, aceto=vinegar*, birra=beer*, spremuta=fresh juice*
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
papavero=poppy, gelsomino=jasmine bush, lavanda=lavender bush, edera=ivy, felce f=fern
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
nonno|nonna=grandparent, zio/zii|zia=relative, cugino|cugina=cousin, amico|amica=friend
vicino|vicina=neighbour, figlio|figlia=child, compagno|compagna=companion, ospite|ospite=guest
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
dolce=sweet, fresco=fresh, maturo=ripe, saporito=tasty, squisito=delicious, amaro=bitter, crudo=raw
cotto=cooked, caldo=hot, freddo=cold, gustoso=appetising, leggero=light, profumato=fragrant
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
perdere un guanto=lose a glove, trovare una conchiglia=find a shell, nascondere un regalo=hide a present
scegliere un vestito=choose a dress, provare un cappello=try on a hat, pettinare i capelli=comb the hair
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
comprare=buy, vendere=sell, perdere=lose, trovare=find, portare=carry, prendere=take
nascondere=hide, rompere=break, riparare=repair, pulire=clean, cercare=look for, disegnare=draw
scegliere=choose, regalare=give away, ricevere=receive, mostrare=show, dimenticare=forget
prestare=lend, conservare=keep, fotografare=photograph, dipingere=paint, usare=use, vedere=see
preferire=prefer, desiderare=want, ammirare=admire, toccare=touch, lanciare=throw, spostare=move
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
ogni mattina=every morning, ogni sera=every evening, ogni giorno=every day, la domenica=on Sundays
il lunedì=on Mondays, il martedì=on Tuesdays, il mercoledì=on Wednesdays, il giovedì=on Thursdays
il venerdì=on Fridays, il sabato=on Saturdays, d'inverno=in winter, d'estate=in summer
in autunno=in autumn, in primavera=in spring, dopo pranzo=after lunch, prima di cena=before supper
a mezzogiorno=at noon, al tramonto=at sunset, all'alba=at dawn, nel pomeriggio=in the afternoon
"""

SOON = """
domani=tomorrow, la settimana prossima=next week, l'anno prossimo=next year, presto=soon
dopodomani=the day after tomorrow, tra un mese=in a month, stasera=tonight, più tardi=later
"""

NUMBERS = """
due=two, tre=three, quattro=four, cinque=five, sei=six, sette=seven, otto=eight, nove=nine, dieci=ten
undici=eleven, dodici=twelve, tredici=thirteen, quattordici=fourteen, quindici=fifteen
sedici=sixteen, diciassette=seventeen, diciotto=eighteen, diciannove=nineteen, venti=twenty
trenta=thirty, quaranta=forty, cinquanta=fifty, sessanta=sixty, settanta=seventy, ottanta=eighty
novanta=ninety, cento=a hundred
"""

HOW = """
lentamente=slowly, velocemente=quickly, volentieri=gladly, con cura=with care, in silenzio=in silence
in fretta=in a hurry, con pazienza=with patience, insieme agli amici=together with friends
con grande gioia=with great joy, senza fatica=without effort, con attenzione=with attention
"""
