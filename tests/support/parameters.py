"""Two values of every parameter of every method, and the request in which it must be heeded.

A row: ``where`` (a request of :mod:`tests.contract.test_every_parameter`), what else is set, the two values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Tried(NamedTuple):
    """``beside``: what else is set, for both values."""

    where: str
    one: Any
    other: Any
    beside: Mapping[str, Any] = {}


Table = Mapping[str, list[Tried]]


def at(where: str, *values: Any, **beside: Any) -> list[Tried]:
    return [Tried(where, *values, beside)]


def everywhere(table: Mapping[str, tuple[Any, Any]], *places: str, **beside: Any) -> dict[str, list[Tried]]:
    return {name: [Tried(where, *pair, beside) for where in places] for name, pair in table.items()}


ANCHORED_ROUTES = ("sided", "functional", "large", "directed", "plain", "timed", "timed functional")

DEGREE_TRIANGLE: dict[str, tuple[Any, Any]] = {
    "count_share": (0.2, 0.4),
    "tail_share": (0.0, 0.15),
    "triangle_share": (0.3, 0.1),
    "product_share": (0.05, 0.2),
    "transitivity": (0.0, 1.0),
}
VALUED = [Tried("plain", 0.0, 0.3), Tried("valued", 0.2, 0.5)]
CARRIES: dict[str, list[Tried]] = {"attribute_share": at("valued", 0.0, 0.4)}
DEFENCE: dict[str, tuple[Any, Any]] = {"sensitive_share": (0.1, 0.5)}

_SGD = {"learn": "link-sgd"}
_NETWORKS = {**_SGD, "inputs": "networks"}
_MLP = {**_SGD, "decoder": "mlp"}
_PAPER = {"variant": "paper", "most_steps": 3, "claimed_epsilon": 5.0}
_OF_BACKBONE: dict[str, tuple[Any, Any]] = {"epochs": (2, 20), "draw": ("sampled", "largest")}


def link_method() -> dict[str, list[Tried]]:
    """dpgvae's parameters, and dpggan's."""
    return {
        "variant": at("plain", "sound", "paper"),
        "claimed_epsilon": at("plain", 1.0, 5.0, **{**_PAPER, "claimed_epsilon": 1.0}),
        "most_steps": at("plain", 3, 5, variant="paper"),
        "latent": at("plain", "prior", "encoder", **_PAPER),
        "preset": at("plain", "paper", "decoder", most_steps=3),
        "learn": at("plain", "off", "evidence"),
        "frame": at("plain", True, False, learn="off"),
        "inputs": at("plain", "spectral", "random", **_SGD),
        "decoder": at("plain", "bilinear", "mlp", **_SGD),
        "joint": at("two plain", False, True, **_SGD),
        "frame_share": at("plain", 0.1, 0.3, learn="evidence"),
        "hat_share": at("plain", 0.3, 0.6, **_SGD),
        "epochs": at("plain", 1, 30, **_NETWORKS),
        "steps": at("plain", 2, 3, **_MLP),
        "attribute_share": [*VALUED, Tried("valued", 0.2, 0.5, _SGD)],
    }


def hete(plain: bool) -> dict[str, list[Tried]]:
    """hetesdg's parameters; ``plain``: hetedp's. Widths stay small, for the time that training takes."""
    semantic = {
        "split": at("typed", "equal", "bilevel"),
        "debias": at("typed", False, True, release=("embedding",), clusters=3),
    }
    return ({} if plain else semantic) | {
        "preset": at("typed", "default", "paper"),
        "variant": at("typed", "sound", "paper"),
        "noise": at("typed", "both", "none", variant="paper", steps=3),
        "claimed_epsilon": at("typed", 1.0, 5.0, variant="paper"),
        "release": at("typed", ("graph",), ("embedding",)),
        "mechanism": at("typed", "histogram", "gaussian-sums", release=("embedding",)),
        "clusters": at("typed", 2, 5),
        "second_hop": at("typed", "on", "off", release=("embedding",)),
        "meta_paths": at("typed", (), (("writes", "about"),), release=("embedding",)),
        "learn": at("typed", "off", "link-sgd", release=("embedding",)),
        "links": at("typed", "tables", "predictor", learn="link-sgd", steps=3),
        "steps": at("typed", 2, 5, learn="link-sgd", release=("embedding",)),
        "rows": at("typed", False, True, release=("embedding",)),
        "attribute_share": [
            Tried("valued", 0.0, 0.3),
            Tried("typed", 0.0, 0.3),
            Tried("valued", 0.2, 0.5, {"learn": "link-sgd", "steps": 3}),
        ],
    }


_SHORT = {"epochs": 1}


def walks() -> dict[str, list[Tried]]:
    """The parameter that walk generators share."""
    return {"epochs": at("timed", 1, 3)}


TRIED: Mapping[str, Table] = {
    "anchored": {
        "degree_share": [
            *(Tried(where, None, 0.8) for where in ANCHORED_ROUTES),
            *(Tried(where, 0.3, 0.9) for where in ANCHORED_ROUTES[:-1]),
        ],
        "evidence": [
            Tried(where, "auto", value)  # a functional relation with time asks for no evidence anyhow
            for where in ANCHORED_ROUTES
            for value in ("lazy", "none")[: 1 if where == "timed functional" else 2]
        ],
        "spectral": everywhere({"spectral": (False, True)}, *ANCHORED_ROUTES)["spectral"],
        "tail_share": everywhere({"tail_share": (0.1, 0.4)}, *ANCHORED_ROUTES)["tail_share"],
        "attribute_share": VALUED,
        "node_attribute_share": [
            Tried("plain", 0.0, 0.2, {"evidence": "none"}),
            Tried("labelled", 0.1, 0.4, {"evidence": "none"}),
        ],
    },
    "dcsbm": everywhere(
        {
            "preset": ("default", "small"),
            "degree_share": (0.18, 0.4),
            "block_share": (0.05, 0.2),
            "count_share": (0.01, 0.2),
            "tail_share": (0.06, 0.2),
            "triangle_share": (0.06, 0.2),
            "clustering_share": (0.06, 0.2),
            "transitivity": (0.0, 1.0),
            "product_share": (0.05, 0.2),
            "groups": (2, 5),
        },
        "plain",
    )
    | {
        "geometry": at("plain", None, "plane", groups=1, clustering_share=0.0, product_share=0.0),
        "attribute_share": VALUED,
        "node_attribute_share": [Tried("plain", 0.0, 0.2), Tried("labelled", 0.1, 0.4)],
    },
    "degree_triangle": everywhere(DEGREE_TRIANGLE, "plain") | CARRIES,
    "der": everywhere(
        {
            "order": ("noisy_degree", "given"),
            "count_share": (0.05, 0.3),
            "order_share": (0.4, 0.2),
        },
        "plain",
    )
    | CARRIES,
    "dgg": everywhere({"count_share": (0.05, 0.4), "clustering": (0.0, 1.0)}, "plain") | CARRIES,
    "dice": everywhere(DEFENCE | {"share": (0.1, 0.6)}, "plain"),
    "diffusion": everywhere(
        {"training_steps": (2, 20), "steps": (1, 20), "communities": (True, False)},
        "plain",
        training_steps=5,
    )
    | {"node_attributes": at("labelled", False, True, training_steps=5)},
    "dp_dk": everywhere(
        {"order": (1, 2), "count_share": (0.05, 0.3), "matrix_share": (0.1, 0.4)},
        "plain",
    )
    | CARRIES,
    "dpggan": link_method(),
    "dpgvae": link_method(),
    "edgerand": everywhere({"form": ("balanced", "symmetric"), "count_share": (0.1, 0.4)}, "plain", "sided")
    | CARRIES,
    "ggan": everywhere(_OF_BACKBONE, "plain"),
    "graphrnn": everywhere({"steps": (2, 20)}, "plain", steps=5),
    "gvae": everywhere(_OF_BACKBONE, "plain"),
    "heterogeneous_walks": walks(),
    "hetedp": hete(plain=True),
    "hetesdg": hete(plain=False),
    "composed": {
        "structures": at("sided", {}, {"*": {"method": "tmf"}}),
        "attribute_share": at("valued", 0.0, 0.4),
        "node_attribute_share": at("labelled", 0.1, 0.4, structures={"*": {"method": "dcsbm"}}),
    },
    "keyframe": everywhere(
        {
            "count_share": (0.3, 0.5),
            "tail_share": (0.25, 0.5),
            "cells_share": (0.05, 0.3),
            "kept_share": (0.07, 0.2),
            "first_frame": (0, 1),
        },
        "timed plain",
        "stream",
    )
    | everywhere({"few_nodes": (True, False)}, "timed plain", "stream", tail_share=0.01)
    | {
        "attribute_share": [Tried("stream", 0.0, 0.3), Tried("valued stream", 0.2, 0.5)],
        "node_attribute_share": [Tried("stream", 0.0, 0.2), Tried("labelled stream", 0.1, 0.4)],
    },
    "lapgraph": everywhere({"count_share": (0.1, 0.4)}, "plain", "sided") | CARRIES,
    "ldpgen": everywhere({"reports": (2, 4), "groups": (2, 20)}, "plain") | CARRIES,
    "profiles": everywhere(
        {
            "degree_share": (0.1, 0.4),
            "activity_share": (0.1, 0.4),
            "total_share": (0.1, 0.4),
            "step_share": (0.1, 0.4),
            "structure_share": (0.0, 0.8),
            "class_share": (0.02, 0.4),
        },
        "persons",
    )
    | {"attribute_share": at("valued persons", 0.0, 0.4)},
    "ppgsl": everywhere(
        DEFENCE
        | {
            "alpha": (0.0, 50.0),
            "preset": ("default", "paper"),
            "against": ("surrogate", "informed"),
            "change": ("relative", "squared"),
            "additions": (0.0, 5.0),
            "full": (False, True),
            "encoder": ("gcn", "sage"),
            "head": ("cosine", "inner"),
            "protocol": ("sitp", "alternating"),
            "steps": (2, 10),
            "interval": (2, 6),
            "surrogate_steps": (1, 10),
            "rounding": ("threshold", "bernoulli"),
            "release": ("graph", "weighted"),
        },
        "plain",
        steps=8,
        interval=4,
        surrogate_steps=3,
    )
    | {
        "target": at("plain", None, {"attack_auc": 0.6}, steps=4, interval=4, surrogate_steps=2),
    },
    "ppne": everywhere(DEFENCE | {"share": (0.1, 0.6)}, "plain"),
    "privgraph": everywhere(
        {
            "initialise_share": (0.2, 0.5),
            "adjust_share": (0.2, 0.5),
            "super_node_size": (2, 20),
        },
        "plain",
        super_node_size=3,
    )
    | CARRIES,
    "privhrg": everywhere(
        {
            "adjust_share": (0.6, 0.3),
            "evidence_share": (0.2, 0.3),
        },
        "plain",
    )
    | CARRIES,
    "projection": {
        "groups": at("people", "team", "floor") + at("people", None, "team"),
        **everywhere({"scale_share": (0.1, 0.2), "edge_share": (0.2, 0.3)}, "people"),
        "triangle_share": at("people", 0.15, 0.3),
        "group_share": at("people", 0.2, 0.3, groups="team"),
        "attribute_share": at("valued people", 0.0, 0.4),
        "mutual_share": at("senders", 0.12, 0.3),
        "step_share": at("senders", 0.2, 0.4),
    },
    "psgraph": everywhere(
        {
            "preset": ("default", "paper"),
            "reuse_partition": (True, False),
            "combine": (True, False),
            "tail_share": (0.0, 0.4),
        },
        "stream",
    )
    | {
        "post_process": at("stream", True, False, preset="paper"),
        "norm_sub": at("stream", "communities", "vector", preset="paper"),
        "meet_count": at("stream", False, True, preset="paper"),
        "attribute_share": at("valued stream", 0.0, 0.4),
    },
    "random_rewire": everywhere(DEFENCE | {"share": (0.1, 0.6)}, "plain"),
    "rwlp": everywhere(DEFENCE | {"length": (1, 4)}, "plain"),
    "temporal_walks": walks() | {"window": at("timed", 0, 2, **_SHORT)},
    "thepuff": {
        "variant": at("timed", "sound", "paper", epochs=1, most_batches=2),
        "bias": at("timed", "paid", "hat", epochs=1, most_batches=2),
        "utility": at("timed", True, False, epochs=1, most_batches=2),
        "keep_degrees": at("timed", True, False, epochs=1, most_batches=2),
        "privacy": at("timed", True, False, epochs=1, most_batches=2, utility=True, utility_steps=2),
        "epochs": at("timed", 1, 2, most_batches=50),
        "most_batches": at("timed", 1, 3, epochs=1),
        "utility_steps": at("timed", 1, 2, epochs=1, most_batches=2, utility=True),
        "attribute_share": [
            Tried("timed", 0.0, 0.2, {"epochs": 1, "most_batches": 2}),
            Tried("valued", 0.2, 0.5, {"epochs": 1, "most_batches": 2, "utility": True, "utility_steps": 2}),
        ],
        "walks_per_edge": at("timed", 0.5, 3.0, epochs=1, most_batches=2),
        "epsilon_minus": at("timed", 1.0, 8.0, variant="paper", epochs=1, most_batches=2),
        "preset": at("timed", "default", "paper", epochs=1, most_batches=2),
        "across_steps": at("timed", False, True, variant="paper", epochs=2, most_batches=20),
    },
    "thepuff_perturb": {
        "variant": at("timed", "sound", "paper"),
        "count_share": at("timed", 0.04, 0.4),
        "epsilon_minus": at("timed", 0.5, 8.0, variant="paper"),
        **CARRIES,
    },
    "tmf": everywhere({"count_share": (0.1, 0.4)}, "plain", "sided") | CARRIES,
}


class Idle(NamedTuple):
    """A request where ``name`` could change nothing: set to ``value`` it is refused, left out it is not."""

    method: str
    where: str
    name: str
    value: Any
    beside: Mapping[str, Any] = {}


def idle(method: str, where: str, values: Mapping[str, Any], **beside: Any) -> list[Idle]:
    return [Idle(method, where, name, value, beside) for name, value in values.items()]


_OF_TRAINING = {"inputs": "random", "decoder": "mlp", "joint": True, "hat_share": 0.5}
_OF_TRAINING |= {"epochs": 3, "steps": 3}
_OF_PAPER = {"claimed_epsilon": 5.0, "most_steps": 3, "latent": "encoder"}


def idle_of_link_method(method: str) -> list[Idle]:
    only_sound = {"learn": "evidence", "frame": False, "frame_share": 0.3, "attribute_share": 0.2}
    return [
        *idle(method, "plain", _OF_PAPER),
        *idle(method, "plain", {**_OF_TRAINING, **only_sound}, variant="paper"),
        *idle(method, "plain", {"claimed_epsilon": 5.0}, preset="decoder", most_steps=3),
        *idle(method, "plain", {**_OF_TRAINING, "frame_share": 0.3}, learn="off"),
        *idle(method, "plain", {**_OF_TRAINING, "frame_share": 0.1}),  # auto: off
        *idle(method, "plain", _OF_TRAINING, learn="evidence"),
        *idle(method, "plain", {"steps": 3, "epochs": 3, "joint": True}, learn="link-sgd"),
        *idle(method, "plain", {"hat_share": 0.5}, learn="link-sgd", inputs="random"),
    ]


def idle_of_hete(method: str) -> list[Idle]:
    vectors = {"second_hop": "on", "meta_paths": (("writes", "about"),)}
    only_sound = {"mechanism": "gaussian-sums", "clusters": 2, "second_hop": "on", "learn": "link-sgd"}
    only_sound |= {"rows": True, "attribute_share": 0.2}
    embedding, sums = {"release": ("embedding",)}, {"mechanism": "gaussian-sums"}
    return [
        *idle(method, "typed", {"claimed_epsilon": 5.0, "steps": 3, **vectors}),
        *idle(method, "typed", {"noise": "none"}),
        *idle(method, "typed", {"steps": 3}, preset="paper"),
        *idle(method, "typed", only_sound, variant="paper", release=("embedding",)),
        *idle(method, "typed", {"clusters": 2}, **sums, **embedding),
        *idle(method, "typed", {"attribute_share": 0.2}, **embedding),
        *idle(method, "typed", {"meta_paths": (("writes", "about"),)}, **embedding, second_hop="off"),
        *idle(method, "sided", {"rows": True}),
    ]


IDLE: list[Idle] = [
    *idle(
        "dcsbm", "plain", {"transitivity": 0.2}, triangle_share=0.0, product_share=0.0, clustering_share=0.0
    ),
    *idle("composed", "plain", {"attribute_share": 0.2}),
    *idle("dcsbm", "plain", {"attribute_share": 0.2, "node_attribute_share": 0.2}),
    *idle("der", "plain", {"order_share": 0.2}, order="given"),
    *idle("dp_dk", "plain", {"matrix_share": 0.2}, order=1),
    *idle_of_link_method("dpggan"),
    *idle_of_link_method("dpgvae"),
    *idle("edgerand", "plain", {"count_share": 0.3}, form="symmetric"),
    *idle_of_hete("hetedp"),
    *idle_of_hete("hetesdg"),
    *idle("hetesdg", "typed", {"debias": False}),
    *idle("hetesdg", "typed", {"split": "equal"}, mechanism="gaussian-sums", release=("embedding",)),
    *idle("hetesdg", "typed", {"split": "equal"}, release=("embedding",), second_hop="off"),
    *idle("profiles", "owners", {"activity_share": 0.2, "step_share": 0.2, "structure_share": 0.3}),
    *idle("profiles", "owners", {"class_share": 0.2}),
    *idle("projection", "people", {"group_share": 0.3, "mutual_share": 0.3, "step_share": 0.3}),
    *idle("projection", "senders", {"groups": "team", "group_share": 0.3}),
    *idle("ppgsl", "plain", {"rounding": "bernoulli"}, release="weighted"),
    *idle("ppgsl", "plain", {"alpha": 5.0}, target={"attack_auc": 0.6}),
    *idle("ppgsl", "plain", {"additions": 5.0}, full=True),
    *idle("ppgsl", "plain", {"protocol": "alternating"}, steps=4, interval=4),
    *idle("psgraph", "stream", {"post_process": False, "norm_sub": "vector"}),
    *idle("psgraph", "stream", {"meet_count": True}),
    *idle("psgraph", "stream", {"meet_count": True}, preset="paper", post_process=False),
    *idle("psgraph", "stream", {"tail_share": 0.2}, preset="paper"),
    *idle("psgraph", "stream", {"combine": False}, reuse_partition=False),
    *idle("psgraph", "plain", {"combine": False, "reuse_partition": False}),
    *idle("thepuff", "timed", {"epsilon_minus": 3.0}),
    *idle("thepuff", "timed", {"bias": "hat", "keep_degrees": False, "utility_steps": 2}, variant="paper"),
    *idle("thepuff", "timed", {"utility_steps": 2}),
    *idle("thepuff", "timed", {"across_steps": True}),
    *idle("thepuff_perturb", "timed", {"count_share": 0.2, "attribute_share": 0.2}, variant="paper"),
    *idle("thepuff_perturb", "timed", {"epsilon_minus": 3.0}),
]
"""Where one parameter is off, another is refused."""
