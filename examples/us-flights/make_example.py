"""Writes nodes.csv, edges.csv and schema.json from two public files.

    python -m examples.us-flights.make_example flights-20k.json airports.csv

``flights-20k.json`` is a list of {date, delay, distance, origin, destination}; ``airports.csv`` has the
columns iata, name, city, state, country, latitude, longitude. Both are in the npm package vega-datasets
(version 3.2.1, folder ``data``), taken from the US Bureau of Transportation Statistics and Data.gov.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from core.graphs.schema import EdgeType, GraphSchema, NodeIds, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import Aggregate, EdgeAttribute, EdgeAttributeKind

FIRST_DAY = "2001-01-01"
DAYS_OF_A_WEEK = 7
WEEKS = 13  # 2001-01-01 to 2001-04-01, the first quarter
# Marquette County has no state in airports.csv ("NA"); it lies in Michigan.
STATES = {"MQT": "MI"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flights", type=Path)
    parser.add_argument("airports", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    flights = pl.read_json(asked.flights)
    airports = pl.read_csv(asked.airports, infer_schema=False, null_values=[])
    day = pl.col("date").str.slice(0, 10).str.to_date("%Y/%m/%d") - pl.lit(FIRST_DAY).str.to_date()
    flown = flights.select(
        pl.col("origin").alias("source"),
        pl.col("destination").alias("target"),
        pl.lit("flight").alias("type"),
        day.dt.total_days().alias("time"),
        pl.col("delay").cast(pl.Int64),
    ).sort("time", "source", "target", maintain_order=True)
    served = pl.concat([flown["source"], flown["target"]]).unique().sort().alias("source").to_frame()
    state = pl.col("source").replace_strict(STATES, default=pl.col("state"))
    located = (
        served.join(airports, left_on="source", right_on="iata", how="left", validate="1:1")
        .select("source", state.alias("target"), pl.lit("located_in").alias("type"))
        .with_columns(pl.lit(None, dtype=pl.Int64).alias("time"), pl.lit(None, dtype=pl.Int64).alias("delay"))
    )
    if located["target"].null_count():
        raise SystemExit("airports.csv lacks an airport that occurs in a flight")
    states = located["target"].unique().sort()
    nodes = pl.concat(
        [
            served.select(pl.col("source").alias("id"), pl.lit("airport").alias("type")),
            states.alias("id").to_frame().with_columns(pl.lit("state").alias("type")),
        ]
    )
    nodes.write_csv(asked.out / "nodes.csv")
    pl.concat([located, flown]).write_csv(asked.out / "edges.csv")
    (asked.out / "schema.json").write_text(schema().model_dump_json(indent=2) + "\n", encoding="utf-8")


def schema() -> GraphSchema:
    """Flights and their delays are protected, on a grid of weeks; where an airport lies every map prints.

    Bounds and cuts of a delay are round numbers, a quarter of an hour being what the Bureau calls late:
    what lies beyond an hour early and four hours late is set to that.
    """
    delay = EdgeAttribute(
        name="delay",
        kind=EdgeAttributeKind.INTEGER,
        bounds=(-60, 240),
        cuts=(-30, -15, 0, 15, 30, 60, 120),
        clip=True,
        aggregate=Aggregate.MEAN,
    )
    return GraphSchema(
        node_types=(NodeType(name="airport"), NodeType(name="state")),
        edge_types=(
            EdgeType(name="flight", source="airport", target="airport", temporal=True, attributes=(delay,)),
            EdgeType(name="located_in", source="airport", target="state", public=True, functional=True),
        ),
        time=TimeGrid(start=0, width=DAYS_OF_A_WEEK, count=WEEKS),
        node_ids=NodeIds.PUBLIC,
    )


if __name__ == "__main__":
    main()
