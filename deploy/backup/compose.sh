# shellcheck shell=sh
# To be read (`. deploy/backup/compose.sh`) by a shell in the folder of docker-compose.yml: from then on backup.sh and
# restore.sh work on its database, which has no port of its own, through the containers' own programs.
export PGDATABASE=graphveil
export GRAPHVEIL_EXPORT="docker compose exec -T verifier python -m worker.verifier --export"
export GRAPHVEIL_PG_DUMP="docker compose exec -T postgres pg_dump --username postgres --dbname graphveil"
export GRAPHVEIL_PSQL="docker compose exec -T postgres psql --username postgres --dbname graphveil"
export GRAPHVEIL_PG_RESTORE="docker compose exec -T postgres pg_restore --username postgres"
export GRAPHVEIL_VERIFY="docker compose run --rm -T --no-deps --entrypoint python keys -m api.admin.ledger verify"
