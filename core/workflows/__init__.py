"""Where nouns meet: submit, ingest, publish, evaluate, recover. Transactions begin here."""
