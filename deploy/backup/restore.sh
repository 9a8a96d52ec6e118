#!/bin/sh
# restore.sh FOLDER/<UTC time>: the empty database that libpq is told of holds the backup, with its roles and grants;
# its chains are recomputed and compared with the signed heads, those of the backup and the newest of the storage.
#
# Exit code 0: intact. 1: the ledger has forgotten spend that was signed since; nothing of the service will start on
# it (docs/auditor.md, "The drill"). 2: nothing was restored. Run it as a superuser of PostgreSQL; the check is
# GRAPHVEIL_VERIFY, by default that of this installation, under the service's own settings.
set -eu

[ $# -eq 1 ] || { echo "usage: restore.sh BACKUP" >&2; exit 2; }
verify=${GRAPHVEIL_VERIFY:-python -m api.ledger verify}
roles=${GRAPHVEIL_ROLES:-$(dirname "$0")/../postgres/roles.sql}

(cd "$1" && sha256sum --check --quiet SHA256SUMS) || { echo "the backup was changed; nothing is restored" >&2; exit 2; }
tables=$(psql --no-psqlrc --quiet --tuples-only --no-align \
    --command "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')")
[ "$tables" = 0 ] || { echo "the database is not empty; nothing is restored" >&2; exit 2; }

psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --file "$roles"
pg_restore --no-owner --no-privileges --exit-on-error --single-transaction --dbname="${PGDATABASE:?}" "$1/database.dump" \
    || { echo "the dump could not be restored; the database is as it was" >&2; exit 2; }
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --file "$roles"

echo "Restored. Compared with the heads of the backup:"
$verify --heads "$1/heads.json" || exit 1
echo "Compared with the newest heads of the storage:"
$verify || exit 1
