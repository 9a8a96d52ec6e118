#!/bin/sh
# restore.sh FOLDER/<UTC time>: the empty database that libpq is told of holds the backup, with its roles and grants;
# its chains are recomputed and compared with the signed heads, those of the backup and the newest of the storage.
#
# Exit code 0: intact. 1: the ledger has forgotten spend that was signed since; nothing of the service will start on
# it (docs/verifier.md, "The drill"). 2: nothing was restored. 3: restored, but not compared: say `verify` again once
# what it names is mended. Run it as a superuser of PostgreSQL. GRAPHVEIL_PSQL and GRAPHVEIL_PG_RESTORE are by default
# those in the PATH; the check is GRAPHVEIL_VERIFY, by default that of this installation, under the service's own
# settings: they have to name the restored database. With Compose, compose.sh beside this file names all three.
set -eu

[ $# -eq 1 ] || { echo "usage: restore.sh BACKUP" >&2; exit 2; }
psql="${GRAPHVEIL_PSQL:-psql} --no-psqlrc --quiet"
verify=${GRAPHVEIL_VERIFY:-python -m api.admin.ledger verify}
roles=${GRAPHVEIL_ROLES:-$(dirname "$0")/../postgres/roles.sql}

(cd "$1" && sha256sum --check --quiet SHA256SUMS) || { echo "the backup was changed; nothing is restored" >&2; exit 2; }
tables=$($psql --tuples-only --no-align \
    --command "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')")
[ "$tables" = 0 ] || { echo "the database is not empty; nothing is restored" >&2; exit 2; }

# Files are handed over as input: the programs may run where this file system is not.
$psql --set ON_ERROR_STOP=1 < "$roles" \
    || { echo "the roles could not be made; nothing is restored" >&2; exit 2; }
${GRAPHVEIL_PG_RESTORE:-pg_restore} --no-owner --no-privileges --exit-on-error --single-transaction \
    --dbname="${PGDATABASE:?}" < "$1/database.dump" \
    || { echo "the dump could not be restored; the database is as it was" >&2; exit 2; }
$psql --set ON_ERROR_STOP=1 < "$roles" \
    || { echo "restored, but without its grants: repeat $roles, and verify" >&2; exit 3; }

compared() {
    code=0
    $verify "$@" || code=$?
    case $code in
        0) ;;
        1) exit 1 ;;
        *) echo "restored, but not compared with the signed heads: verify again" >&2; exit 3 ;;
    esac
}
echo "Restored. Compared with the heads of the backup:"
compared --heads /dev/stdin < "$1/heads.json"
echo "Compared with the newest heads of the storage:"
compared < /dev/null
