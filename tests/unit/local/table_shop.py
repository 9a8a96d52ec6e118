"""A shop of four tables from public facts of the examples: regions, states, airports, flights."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

FLIGHTS = Path(__file__).resolve().parents[3] / "examples" / "us-flights"
_WEST = ("AK", "AZ", "CA", "CO", "HI", "ID", "MT", "NM", "NV", "OR", "UT", "WA", "WY")


def frames() -> dict[str, pl.DataFrame]:
    """Return the tables. Regions are two; every flight has an origin, a destination, a day and a delay."""
    nodes = pl.read_csv(FLIGHTS / "nodes.csv")
    edges = pl.read_csv(FLIGHTS / "edges.csv", infer_schema_length=None)
    states = nodes.filter(pl.col("type") == "state").select(pl.col("id").alias("state"))
    west = pl.col("state").is_in(_WEST)
    flown = edges.filter(pl.col("type") == "flight").with_row_index("flight", 1)
    day = pl.lit(date(2001, 1, 1)) + pl.duration(days=pl.col("time").cast(pl.Int64))
    return {
        "regions": pl.DataFrame({"region": [1, 2], "name": ["west", "east"]}),
        "states": states.with_columns(pl.when(west).then(1).otherwise(2).cast(pl.Int64).alias("region")),
        "airports": edges.filter(pl.col("type") == "located_in").select(
            pl.col("source").alias("airport"), pl.col("target").alias("state")
        ),
        "flights": flown.select(
            pl.col("flight").cast(pl.Int64),
            pl.col("source").alias("origin"),
            pl.col("target").alias("destination"),
            day.cast(pl.Date).alias("day"),
            pl.col("delay").cast(pl.Int64),
            (pl.col("delay").cast(pl.Int64) > 15).alias("late"),
        ),
    }


def mapping() -> dict[str, Any]:
    """Return the mapping, every question answered."""
    return {
        "unit": "row",
        "person": "none",
        "keys": "public",
        "tables": {
            "regions": {
                "rows": "public",
                "columns": {
                    "region": {"type": "int64", "is": "key"},
                    "name": {"type": "string", "is": "public"},
                },
            },
            "states": {
                "rows": "public",
                "columns": {
                    "state": {"type": "string", "is": "key"},
                    "region": {"type": "int64", "is": "public", "references": "regions"},
                },
            },
            "airports": {
                "rows": "public",
                "columns": {
                    "airport": {"type": "string", "is": "key"},
                    "state": {"type": "string", "is": "public", "references": "states"},
                },
            },
            "flights": {
                "rows": "private",
                "repeats": 60,
                "columns": {
                    "flight": {"type": "int64", "is": "key"},
                    "origin": {"type": "string", "is": "protected", "references": "airports"},
                    "destination": {"type": "string", "is": "protected", "references": "airports"},
                    "day": {
                        "type": "date",
                        "is": "protected",
                        "bounds": ["2001-01-01", "2001-03-31"],
                        "width": "1w",
                    },
                    "delay": {
                        "type": "int64",
                        "is": "protected",
                        "bounds": [-60, 240],
                        "cuts": [-30, -15, 0, 15, 30, 60, 120],
                        "clip": True,
                    },
                    "late": {"type": "bool", "is": "protected"},
                },
            },
        },
    }


def write(folder: Path) -> Path:
    """Write the tables as CSV, with their mapping."""
    import yaml

    folder.mkdir(parents=True)
    for name, frame in frames().items():
        frame.write_csv(folder / f"{name}.csv")
    (folder / "tables.yaml").write_text(yaml.safe_dump(mapping(), sort_keys=False), encoding="utf-8")
    return folder
