#!/bin/sh
# backup.sh FOLDER: FOLDER/<UTC time>/ holds a dump of the database, the ledger's signed heads of the moment before,
# and the digests of both. The folder appears whole or not at all.
#
# Where the database is, libpq is told (PGHOST, PGPORT, PGUSER, PGPASSFILE or PGPASSWORD, PGDATABASE), by a role that
# reads every table. Who dumps is GRAPHVEIL_PG_DUMP, by default the pg_dump in the PATH; who makes the heads is
# GRAPHVEIL_EXPORT, by default the verifier of this installation, under the service's own settings. With Compose,
# compose.sh beside this file names both. The object storage has its own backup: it holds what is sealed, and the heads
# once more.
set -eu
umask 077

[ $# -eq 1 ] || { echo "usage: backup.sh FOLDER" >&2; exit 2; }
made=$(date -u +%Y-%m-%dT%H%M%SZ)
target=$1/$made
partial=$1/.$made.partial
mkdir -p "$1"
mkdir "$partial"  # fails where another backup of this second is being made
trap 'rm -rf "$partial"' EXIT
trap 'exit 1' HUP INT TERM
[ ! -e "$target" ] || { echo "$target is there already" >&2; exit 1; }

# Heads first: whatever is spent meanwhile, the dump knows at least what they say.
${GRAPHVEIL_EXPORT:-python -m worker.verifier --export} > "$partial/heads.json"
${GRAPHVEIL_PG_DUMP:-pg_dump} --format=custom --no-owner --no-privileges > "$partial/database.dump"
(cd "$partial" && sha256sum database.dump heads.json > SHA256SUMS)
mv "$partial" "$target"
echo "$target"
