"""Where the data of every paper's experiments are published, and how they lie in a folder.

Digests are of files that we have as they were published, at a commit that names their content. Of SNAP's we
have copies from other places, whose bytes need not be theirs: no digest is said for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

SNAP = "https://snap.stanford.edu/data"
RAW = "https://raw.githubusercontent.com"
THEPUFF = f"{RAW}/xinyuu-he/THePUff/52367952841c1200cfb0e2575eee8e1261f23071/data"
HECO = f"{RAW}/liun-online/HeCo/b90100c4ef66370a1b67efdb59ec321a70edd436/data/acm"
HETEDP = f"{RAW}/AixWinnie/HeteDP/a56d99ca0bae97d1224443c795054bf86c284761/data/Amazon"


@dataclass(frozen=True)
class Published:
    """A file and where it is published.

    ``path``: where it stands in the folder. ``sha256``: of what is downloaded; None where nobody whom we can
    check has said one. ``form``: how it is kept: as it comes, gzipped, or unpacked, its files side by side in
    ``path``.
    """

    url: str
    path: str
    sha256: str | None = None
    form: Literal["plain", "gzip", "archive"] = "plain"


@dataclass(frozen=True)
class Data:
    """A paper's: files to fetch, how its experiment takes them, and what is to be had elsewhere, and why."""

    files: tuple[Published, ...] = ()
    uses: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)


OF_PAPER = {
    "psgraph": Data(
        (
            Published(f"{SNAP}/as-733.tar.gz", "as-733", form="archive"),
            Published(f"{SNAP}/cit-HepPh.txt.gz", "cit-HepPh/cit-HepPh.txt.gz"),
            Published(f"{SNAP}/soc-sign-bitcoinotc.csv.gz", "bitcoin-otc/soc-sign-bitcoinotc.csv.gz"),
            Published(f"{SNAP}/CollegeMsg.txt.gz", "CollegeMsg/CollegeMsg.txt.gz"),
            Published(
                f"{SNAP}/email-Eu-core-temporal.txt.gz",
                "email-Eu-core-temporal/email-Eu-core-temporal.txt.gz",
            ),
        ),
        (
            "--stream as-days={folder}/as-733",
            "--stream cithepph-monthly={folder}/cit-HepPh/cit-HepPh.txt.gz",
            "--stream bitcoin-monthly={folder}/bitcoin-otc/soc-sign-bitcoinotc.csv.gz",
            "--stream collegemsg-28d={folder}/CollegeMsg/CollegeMsg.txt.gz",
            "--stream email-weekly={folder}/email-Eu-core-temporal/email-Eu-core-temporal.txt.gz",
        ),
        {
            "As-caida": f"a file a snapshot, {SNAP}/as-caida.tar.gz; --data takes one file of all",
            "Reddit": "the paper does not say which links make its 24 steps; --data takes a file of them",
        },
    ),
    "thepuff": Data(
        (
            Published(
                f"{THEPUFF}/ml-100k/ml-100k.txt",
                "ml-100k/ml-100k.txt.gz",
                "53c085c37be6683aef9cd96267068c9c4ede5a9bc1402910ea6160bd929e2fc5",
                "gzip",
            ),
            Published(
                f"{THEPUFF}/dblp_kdd/dblp_kdd.txt",
                "dblp_kdd/dblp_kdd.txt.gz",
                "e493c9a34360dbd5b119bd5bc0fda66e4d15b4a4a563490c9f3b14a5ba7fb990",
                "gzip",
            ),
        ),
        ("--graph ml-100k={folder}", "--graph dblp={folder}"),
        {
            "ML-20M": "its terms forbid passing it on: grouplens.org/datasets/movielens/20m, as --data",
            "Taobao": "behind an account: tianchi.aliyun.com/dataset/649, as --data",
        },
    ),
    "hetesdg": Data(
        (
            Published(
                f"{HECO}/pa.txt",
                "acm_heco/pa.txt",
                "e67385fc13c3b3b624d81de7eb6e4245d9aeafa063c5466c6fab0f151bcb84d6",
            ),
            Published(
                f"{HECO}/ps.txt",
                "acm_heco/ps.txt",
                "3da7615ef5567c5f7f1ab9ec770c4b4b8b6a54790baa1cda3d4499329dfc22d5",
            ),
            Published(
                f"{HECO}/p_feat.npz",
                "acm_heco/p_feat.npz",
                "9e1019dfceaaabb19ee5b5f09de3147ffbaa818b43c3fc3f92bdfaf4ed5f02f4",
            ),
            Published(
                f"{HECO}/labels.npy",
                "acm_heco/labels.npy",
                "019284b3e6a58fc8ebd432fb99aaaf183ad41dbf56b8ca7af0b56dca9dd844b5",
            ),
            Published(
                f"{HETEDP}/user_item.dat",
                "amazon_hetedp/user_item.dat.gz",
                "e5574a91157618cc479afbaf4f27a319eefd1245169441b407b279e0fa44e31f",
                "gzip",
            ),
            Published(
                f"{HETEDP}/item_view.dat",
                "amazon_hetedp/item_view.dat",
                "42b1aec0a0eb9d71a265efb491dd951b523723637bb18f80f87c72d4fa6819da",
            ),
            Published(
                f"{HETEDP}/item_brand.dat",
                "amazon_hetedp/item_brand.dat",
                "65f4eaddff343a365ad474a6841bbaf541af1b2d96081c4adaeeeb8a7a8a313b",
            ),
            Published(
                f"{HETEDP}/item_category.dat",
                "amazon_hetedp/item_category.dat",
                "17b9158f777fbb0b8b035a9b675c2f7d2e9f7ad81f34919d3e6db4289c9dc6bf",
            ),
        ),
        ("--set acm={folder}", "--set amazon={folder}"),
        {"IMDB": "its first posting was withdrawn; imdb_movies/movie_metadata.csv is read where you have it"},
    ),
    "dpggan": Data(
        elsewhere={
            "DBLP and IMDB networks": "published as pickles, which may run code when read, in data.zip of "
            "haonan3/Secure-Network-Release-with-Link-Privacy: --networks takes them as text, a JSON object "
            'a line, {"nodes": n, "label": class or null, "edges": [[u, v], ...]}'
        }
    ),
    "ppgsl": Data(
        (Published(f"{SNAP}/lastfm_asia.zip", "lastfm_asia", form="archive"),),
        ("--set lastfm={folder}",),
        {
            "Cora, CiteSeer": "published as pickles (kimiyoung/planetoid): as text, edges.csv, labels.csv "
            "and features.csv.gz (node,feature of every 1) in cora/ and citeseer/",
            "PolBlogs": "a NumPy file (EdisonLeeeee/GraphData): as edges.csv and labels.csv in polblogs/",
        },
    ),
}


def page() -> str:
    """The page of the documentation: every file, its place in the folder and its digest."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Data of the papers\n"
    yield (
        "`graphveil reproduce PAPER --fetch FOLDER` downloads what is published in a form that is safe to "
        "read, checks its SHA-256 and tells the command that runs on it. A file with another digest is not "
        "kept. Where no digest is known, that of the first download is printed and kept in "
        "`FOLDER/SHA256SUMS`, and later downloads must have it. A file that is in its place already, from "
        "wherever, is taken as it is."
    )
    for paper, data in OF_PAPER.items():
        yield f"\n## {paper}\n"
        if data.files:
            yield "| in FOLDER | from | SHA-256 of what is downloaded |"
            yield "|---|---|---|"
            for each in data.files:
                form = {"plain": "", "gzip": ", gzipped", "archive": "/, unpacked"}[each.form]
                yield f"| `{each.path}`{form} | {each.url} | {each.sha256 or 'not known'} |"
            yield ""
        yield from (f"- `graphveil reproduce {paper} {use.format(folder='FOLDER')}`" for use in data.uses)
        yield from (f"- {name}: {why}." for name, why in data.elsewhere.items())
