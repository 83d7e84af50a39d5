"""Italian verbs, third person: present, imperfect, future, participle, gerund; pure functions.

Only what the world's sentences use. Reflexive infinitives (-si) carry their ``si`` along.
"""

from __future__ import annotations

from typing import Literal

from revocab.world.grammar_it import Gender, Number, inflect

Tense = Literal["present", "imperfect", "future", "past"]

#: -ire verbs without -isc-.
PLAIN_IRE_WORDS = """
aprire coprire scoprire riaprire dormire partire sentire servire seguire inseguire offrire
soffrire vestire bollire fuggire avvertire divertire nutrire riempire cucire mentire applaudire
"""
PLAIN_IRE = frozenset(PLAIN_IRE_WORDS.split())

#: Whole present forms (third singular, third plural).
PRESENT = {
    "essere": ("è", "sono"), "avere": ("ha", "hanno"), "andare": ("va", "vanno"),
    "fare": ("fa", "fanno"), "dare": ("dà", "danno"), "stare": ("sta", "stanno"),
    "venire": ("viene", "vengono"), "dire": ("dice", "dicono"), "bere": ("beve", "bevono"),
    "uscire": ("esce", "escono"), "tenere": ("tiene", "tengono"), "salire": ("sale", "salgono"),
    "rimanere": ("rimane", "rimangono"), "scegliere": ("sceglie", "scelgono"),
    "cogliere": ("coglie", "colgono"), "raccogliere": ("raccoglie", "raccolgono"),
    "togliere": ("toglie", "tolgono"), "sciogliere": ("scioglie", "sciolgono"),
    "accogliere": ("accoglie", "accolgono"),
    "spegnere": ("spegne", "spengono"), "cuocere": ("cuoce", "cuociono"),
    "morire": ("muore", "muoiono"), "cucire": ("cuce", "cuciono"),
    "riempire": ("riempie", "riempiono"), "sedere": ("siede", "siedono"),
    "potere": ("può", "possono"), "volere": ("vuole", "vogliono"), "sapere": ("sa", "sanno"),
    "dovere": ("deve", "devono"), "muovere": ("muove", "muovono"),
    "mantenere": ("mantiene", "mantengono"),
    "contenere": ("contiene", "contengono"), "ottenere": ("ottiene", "ottengono"),
    "appartenere": ("appartiene", "appartengono"), "produrre": ("produce", "producono"),
    "condurre": ("conduce", "conducono"), "tradurre": ("traduce", "traducono"),
    "trarre": ("trae", "traggono"), "attrarre": ("attrae", "attraggono"),
    "comporre": ("compone", "compongono"), "disporre": ("dispone", "dispongono"),
}  # fmt: skip

#: The long stem on which imperfect and gerund of a shortened infinitive stand.
LONG_STEM = {
    "fare": "face", "dire": "dice", "bere": "beve", "produrre": "produce",
    "condurre": "conduce", "tradurre": "traduce", "trarre": "trae", "attrarre": "attrae",
    "comporre": "compone", "disporre": "dispone",
}  # fmt: skip

FUTURE_STEM = {
    "essere": "sar", "avere": "avr", "andare": "andr", "fare": "far", "dare": "dar",
    "stare": "star", "venire": "verr", "bere": "berr", "tenere": "terr", "rimanere": "rimarr",
    "vedere": "vedr", "cadere": "cadr", "vivere": "vivr", "mantenere": "manterr",
    "contenere": "conterr", "ottenere": "otterr", "appartenere": "apparterr",
    "potere": "potr", "volere": "vorr", "sapere": "sapr", "dovere": "dovr",
    "produrre": "produrr", "condurre": "condurr", "tradurre": "tradurr", "trarre": "trarr",
    "attrarre": "attrarr", "comporre": "comporr", "disporre": "disporr",
}  # fmt: skip

PARTICIPLES = """
accendere=acceso appendere=appeso aprire=aperto riaprire=riaperto bere=bevuto chiedere=chiesto
chiudere=chiuso cogliere=colto raccogliere=raccolto accogliere=accolto correre=corso
rincorrere=rincorso coprire=coperto scoprire=scoperto cuocere=cotto decidere=deciso
difendere=difeso dipingere=dipinto dire=detto dividere=diviso fare=fatto friggere=fritto
leggere=letto mettere=messo mordere=morso mungere=munto muovere=mosso nascere=nato
nascondere=nascosto offrire=offerto soffrire=sofferto perdere=perso piangere=pianto
prendere=preso proteggere=protetto ridere=riso sorridere=sorriso rimanere=rimasto
rispondere=risposto rompere=rotto scegliere=scelto scendere=sceso sciogliere=sciolto
scrivere=scritto spegnere=spento spendere=speso spingere=spinto stendere=steso
stringere=stretto tendere=teso tingere=tinto togliere=tolto vedere=visto venire=venuto
vincere=vinto vivere=vissuto dirigere=diretto correggere=corretto distruggere=distrutto
essere=stato morire=morto produrre=prodotto condurre=condotto tradurre=tradotto trarre=tratto
attrarre=attratto comporre=composto disporre=disposto permettere=permesso promettere=promesso
trasmettere=trasmesso aggiungere=aggiunto raggiungere=raggiunto immergere=immerso
emergere=emerso espandere=espanso riflettere=riflesso descrivere=descritto sorgere=sorto
reggere=retto assistere=assistito percorrere=percorso soccorrere=soccorso incidere=inciso
scuotere=scosso fondere=fuso diffondere=diffuso attendere=atteso sorprendere=sorpreso
discutere=discusso trascorrere=trascorso
"""
PARTICIPLE = dict(pair.split("=") for pair in PARTICIPLES.split())

#: Intransitive verbs whose past takes essere (reflexives always do).
WITH_ESSERE_WORDS = """
andare arrivare venire tornare ritornare partire uscire entrare salire scendere cadere nascere
morire restare rimanere crescere diventare scappare essere stare fuggire sparire salpare
evaporare gelare affondare fiorire appassire arrugginire sbocciare apparire marcire ingiallire
inverdire arrossire emergere sorgere scoppiare appartenere
"""
WITH_ESSERE = frozenset(WITH_ESSERE_WORDS.split())


def split_reflexive(infinitive: str) -> tuple[str, bool]:
    """Return the plain infinitive and whether the verb was reflexive: lavarsi -> lavare, True."""
    if infinitive.endswith("si"):
        return infinitive[:-2] + "e", True
    return infinitive, False


def present(infinitive: str, number: Number = "s") -> str:
    """Return the third person present: mangia, finiscono, si lava."""
    verb, reflexive = split_reflexive(infinitive)
    if verb in PRESENT:
        form = PRESENT[verb][number == "p"]
    else:
        stem, ending = verb[:-3], verb[-3:]
        if ending == "are":
            form = stem + ("a" if number == "s" else "ano")
        elif ending == "ire" and verb not in PLAIN_IRE:
            form = stem + ("isce" if number == "s" else "iscono")
        else:
            form = stem + ("e" if number == "s" else "ono")
    return _with_si(form, reflexive)


def imperfect(infinitive: str, number: Number = "s") -> str:
    """Return the third person imperfect: mangiava, finivano, si lavava."""
    verb, reflexive = split_reflexive(infinitive)
    if verb == "essere":
        form = "era" if number == "s" else "erano"
    else:
        stem = LONG_STEM.get(verb, verb[:-2])
        form = stem + ("va" if number == "s" else "vano")
    return _with_si(form, reflexive)


def future(infinitive: str, number: Number = "s") -> str:
    """Return the third person future: mangerà, cercheranno, si laverà."""
    verb, reflexive = split_reflexive(infinitive)
    stem = FUTURE_STEM.get(verb) or _future_stem(verb)
    return _with_si(stem + ("à" if number == "s" else "anno"), reflexive)


def _future_stem(verb: str) -> str:
    if not verb.endswith("are"):
        return verb[:-1]
    stem = verb[:-3]
    if stem.endswith(("c", "g")):
        stem += "h"
    elif stem.endswith(("ci", "gi")):
        stem = stem[:-1]
    return stem + "er"


def past_participle(infinitive: str) -> str:
    """Return the masculine singular past participle: mangiato, cotto, cresciuto."""
    verb, _ = split_reflexive(infinitive)
    if verb in PARTICIPLE:
        return PARTICIPLE[verb]
    stem, ending = verb[:-3], verb[-3:]
    if ending == "are":
        return stem + "ato"
    if ending == "ire":
        return stem + "ito"
    return stem + ("iuto" if stem.endswith("c") else "uto")


def gerund(infinitive: str) -> str:
    """Return the gerund: mangiando, facendo, lavandosi."""
    verb, reflexive = split_reflexive(infinitive)
    if verb in LONG_STEM:
        form = LONG_STEM[verb] + "ndo"
    else:
        form = verb[:-3] + ("ando" if verb.endswith("are") else "endo")
    return form + "si" if reflexive else form


def past(infinitive: str, gender: Gender = "m", number: Number = "s") -> str:
    """Return the passato prossimo, participle agreeing with the subject when it takes essere."""
    verb, reflexive = split_reflexive(infinitive)
    form = past_participle(verb)
    if reflexive or verb in WITH_ESSERE:
        auxiliary = "è" if number == "s" else "sono"
        return _with_si(f"{auxiliary} {inflect(form, gender, number)}", reflexive)
    return f"{'ha' if number == 's' else 'hanno'} {form}"


def _with_si(form: str, reflexive: bool) -> str:
    return f"si {form}" if reflexive else form
