#!/bin/sh
# Roles, their passwords and grants. Runs when the cluster is made, over its socket, and again after the
# migrations, from the service "grants", where PGHOST says so. May be repeated at will.
set -eu

export PGUSER=postgres PGDATABASE=graphveil
PGPASSWORD=$(cat /run/secrets/postgres_superuser_password)
export PGPASSWORD

psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --file /opt/graphveil/roles.sql

# The passwords stand in no argument and no log: psql reads them itself and quotes them.
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 <<'SQL'
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
\set migrator `cat /run/secrets/postgres_migrator_password`
\set app `cat /run/secrets/postgres_app_password`
\set reader `cat /run/secrets/postgres_reader_password`
ALTER ROLE graphveil_migrator PASSWORD :'migrator';
ALTER ROLE graphveil_app PASSWORD :'app';
ALTER ROLE graphveil_reader PASSWORD :'reader';
SQL
