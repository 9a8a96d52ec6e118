"""What headers call ends, times, values and types. They do in several languages and in other tools' files."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from core.graphs.schema.structure import columns_apart

_PAIRS = """
source target; src dst; src dest; from to; u v; u i; i j; a b; x y; ego alter; head tail; tail head;
subject object;
sourceid targetid; fromid toid; fromnodeid tonodeid; srcid dstid; node1 node2; id1 id2; nodea nodeb;
sender receiver;
sender recipient; caller callee; payer payee; buyer seller; lender borrower; trustor trustee;
rater ratee; rater rated;
citing cited; citer citee; parent child; follower followee; follower followed; giver receiver; giver taker;
origin destination; departure arrival; start end; startid endid; startnode endnode; begin end; left right;
employer employee; donor recipient; donor beneficiary; supplier customer; author addressee;
predecessor successor;
von nach; von an; quelle ziel; start ziel; absender empfanger; sender empfanger; anrufer angerufener;
zahler empfanger;
geber nehmer; kaufer verkaufer;
de a; de vers; source cible; origine destination; expediteur destinataire; appelant appele;
emetteur recepteur;
depart arrivee; payeur beneficiaire;
desde hasta; origen destino; emisor receptor; remitente destinatario; fuente destino; pagador beneficiario;
da a; sorgente destinazione; mittente destinatario; origine destinazione; partenza arrivo;
chiamante chiamato;
de para; origem destino; remetente destinatario; fonte alvo; emissor recetor; pagador recebedor;
van naar; bron doel; afzender ontvanger; herkomst bestemming; beller gebelde; betaler ontvanger;
od do; zrodlo cel; nadawca odbiorca; platnik odbiorca; dzwoniacy odbierajacy;
fran till; kalla mal; avsandare mottagare
"""
_SORTS = """
user item; user product; user movie; user film; user song; user track; user artist; user book;
user page; user tag;
user group; user business; user event; user restaurant; user article; user anime; user game;
customer product;
customer item; buyer product; reviewer product; reviewer item; author paper; author article;
author publication;
author book; actor movie; actor film; member group; member club; person company; person event; person group;
person organization; director company; student course; patient diagnosis; patient drug; patient doctor;
client product; investor company; reader book; listener artist; session item; visitor page; word document;
document word; gene disease; drug target; drug protein; nutzer artikel; benutzer artikel; kunde produkt;
utilisateur produit; client produit; usuario producto; cliente producto; utente prodotto; cliente prodotto;
usuario produto; cliente produto; gebruiker product; klant product; uzytkownik produkt; klient produkt
"""
_TIMES = """
time timestamp ts datetime date unixtime unixts unix epoch when t day year month hour step createdat created
creationdate creationtime createdtime eventtime eventdate sentat occurredat starttime startdate
validfrom interval
zeit datum zeitpunkt zeitstempel uhrzeit tag jahr
temps heure horodatage jour annee
fecha hora tiempo dia ano momento
data ora tempo giorno anno
tijd tijdstip dag jaar
czas dzien rok kiedy
tid tidpunkt ar
"""
_VALUES = """
weight weights value values amount count counts seconds duration rating ratings score strength distance
dist price
bytes quantity sign cost w freq frequency capacity flow similarity length volume packets minutes hours
calls messages
gewicht wert betrag anzahl dauer preis menge sekunden
poids valeur montant nombre duree prix quantite secondes
peso valor cantidad importe duracion precio segundos
valore importo quantita durata prezzo
quantidade duracao preco valorpago
waarde bedrag aantal duur prijs
waga wartosc kwota liczba cena
vikt varde belopp antal
"""
_TYPES = """
type types relation relations rel relationship reltype relationtype relationshiptype edgetype linktype
kind predicate
interaction interactiontype label category class
typ art beziehung kategorie
relacion tipo categoria
relazione relacao
soort relatie
rodzaj relacja
sort
"""
_IDS = """
id node nodeid nodes vertex vertexid key name user userid person personid identifier uid
knoten knotenid noeud nodo knoop wezel nod
"""
_INDICES = "index idx row rowid rownumber nr no number edgeid linkid unnamed0 unnamed id lfdnr"
_ENDINGS = ("id", "ids", "name", "node", "key", "no", "number", "nr", "address", "account")
_NUMBER = re.compile(r"\d+$")
_COUNTED = re.compile(r"([a-z]+)(\d{1,4})")
_NEO4JS_END = re.compile(r":(START|END)_ID(?:\([^()]*\))?$")
_SPLIT = re.compile(r"[^0-9a-z]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def plain(name: str) -> str:
    """Write a header's name plainly. Case, accents, spaces and marks go: ``From Node-ID`` is
    ``fromnodeid``."""
    return "".join(tokens(name))


def tokens(name: str) -> list[str]:
    """Split a header's name into its words."""
    spaced = _CAMEL.sub(" ", name.strip())
    # NFKD takes accents off, but leaves ``ł`` whole.
    text = unicodedata.normalize("NFKD", spaced.replace("ł", "l").replace("Ł", "L")).casefold()
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    return [word for word in _SPLIT.split(text) if word]


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((first, second) for first, second in (each.split() for each in text.split(";")))


PAIRS, SORTS = _pairs(_PAIRS), _pairs(_SORTS)
TIMES, VALUES, TYPES = frozenset(_TIMES.split()), frozenset(_VALUES.split()), frozenset(_TYPES.split())
IDS, INDICES = frozenset(_IDS.split()), frozenset(_INDICES.split())
# Of one or two letters they may be ids as well.
_ALONE = frozenset(word for pair in PAIRS for word in pair if len(word) > 2)


def are_ends(first: str, second: str) -> bool:
    """Tell whether two names are ends. They stand in this order: a known pair, or ``gene_1`` and
    ``gene_2``."""
    if (_NEO4JS_END.search(first.strip()), _NEO4JS_END.search(second.strip())) != (None, None):
        return _neo4js(first, "START") and _neo4js(second, "END")
    return _found(first, second, PAIRS) or numbered(first, second) or are_sorts(first, second)


def _neo4js(name: str, end: str) -> bool:
    found = _NEO4JS_END.search(name.strip())
    return found is not None and found[1] == end


def are_sorts(first: str, second: str) -> bool:
    """Tell whether two names are sorts of nodes. User and item are such."""
    return _found(first, second, SORTS)


def _found(first: str, second: str, pairs: frozenset[tuple[str, str]]) -> bool:
    one, two = plain(first), plain(second)
    if (one, two) in pairs:
        return True
    ones, twos = tokens(first), tokens(second)
    if len(ones) != len(twos) or len(ones) < 2:
        # Written as one word, as in ``sourceid``: the ending is cut off.
        ones, twos = _stem(one), _stem(two)
        return bool(ones) and bool(twos) and (ones[0], twos[0]) in pairs and ones[1] == twos[1]
    differing = [(a, b) for a, b in zip(ones, twos, strict=True) if a != b]
    return len(differing) == 1 and differing[0] in pairs


def _stem(name: str) -> list[str]:
    for ending in _ENDINGS:
        if name.endswith(ending) and len(name) > len(ending):
            return [name.removesuffix(ending), ending]
    return []


def telling(first: str, second: str) -> bool:
    """Tell whether two names show a header. Words of one letter may be ids as well."""
    return len(first) > 2 or len(second) > 2 or (plain(first), plain(second)) == ("u", "v")


def numbered(first: str, second: str) -> bool:
    """Tell whether only numbers part two names. They differ only in 1 and 2, or a and b."""
    one, two = plain(first), plain(second)
    if len(one) != len(two) or len(one) < 3 or one == two:
        return False
    differing = [(a, b) for a, b in zip(one, two, strict=True) if a != b]
    return differing in ([("1", "2")], [("0", "1")]) or (differing == [("a", "b")] and one[-1] == "a")


def is_neo4js_id(name: str) -> bool:
    """Tell whether Neo4j's import reads the column as ids. It takes it for the ids of nodes:
    ``personId:ID(Person)``."""
    return re.search(r":ID(\([^()]*\))?$", name.strip()) is not None


def ends_as_id(name: str) -> bool:
    """Tell whether the last word of a name is "id"."""
    return tokens(name)[-1:] == ["id"]


def known(name: str) -> bool:
    """Tell whether a name has a known role. It names a time, a value, a type or an id."""
    word = plain(name)
    return len(word) > 2 and (
        word in TIMES or word in VALUES or word in TYPES or word in IDS or word in _ALONE or word in INDICES
    )


def ends_among(names: Sequence[str]) -> list[tuple[int, int]]:
    """List the pairs of names that are ends. Their places count from 0.

    ``col1`` and ``col2`` are none where there is a ``col3``: columns are numbered then.
    """
    stems = Counter(_NUMBER.sub("", plain(name)) for name in names)
    return [
        (i, j)
        for i, first in enumerate(names)
        for j, second in enumerate(names)
        if i != j
        and are_ends(first, second)
        and not (only_numbered(first, second) and stems[_NUMBER.sub("", plain(first))] > 2)
    ]


def only_numbered(first: str, second: str) -> bool:
    """Tell whether only numbers make two names a pair. Their stem names no node."""
    if _found(first, second, PAIRS) or not numbered(first, second):
        return False
    return _NUMBER.sub("", plain(first)).removesuffix("id") not in IDS


def numbering(names: Sequence[str]) -> bool:
    """Tell whether names are numbered in order. Three or more are one stem, numbered from 0 or 1."""
    found = [_COUNTED.fullmatch(plain(name)) for name in names]
    if len(names) < 3 or not all(found) or len({each[1] for each in found if each}) > 1:
        return False
    numbers = [int(each[2]) for each in found if each]
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


_TIME_NAMES = ("time", "timestamp", "ts", "datetime", "date", "unix_time", "unixtime")
_ID_NAMES = ("id", "node", "node_id", "nodeid")


def meant(names: Sequence[str], part: str, wanted: Sequence[str]) -> list[str]:
    """Give columns the names of a declared schema. ``from`` is ``source`` beside ``to``, in any case.

    A name that is wanted as it stands keeps its meaning, and a synonym of a column that is there has none.
    """
    found = list(names)
    free = [place for place, name in enumerate(names) if name not in wanted]
    if part == "edges" and not {"source", "target"} & set(names):
        pairs = [
            (i, j)
            for i, j in ends_among(names)
            if i in free
            and j in free
            and names.count(names[i]) == names.count(names[j]) == 1
            and telling(names[i], names[j])
        ]
        if pairs:
            first = min(pairs)
            found[first[0]], found[first[1]] = "source", "target"
    lowered = [name.lower() for name in names]
    for meaning, synonyms in (("time", _TIME_NAMES), ("id", _ID_NAMES)):
        places = [
            place
            for name in synonyms
            for place in free
            if lowered[place] == name and lowered.count(name) == 1
        ]
        if meaning in wanted and meaning not in names and places:
            found[places[0]] = meaning
    return found


def by_schema(names: Sequence[str], part: str, wanted: Sequence[str], required: Sequence[str]) -> bool:
    """Tell whether a first line names required columns. A schema needs the ends, or of a node list all of
    it."""
    telling = {"source", "target"} if part == "edges" else set(required)
    return telling <= set(as_schema(names, part, wanted))


def as_schema(names: Sequence[str], part: str, wanted: Sequence[str]) -> list[str]:
    """Name columns by a declared schema's names. These are in its words, and in letters that it takes."""
    return columns_apart(meant(names, part, wanted), part, wanted)
