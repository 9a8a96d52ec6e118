#!/bin/sh
# Makes every secret of docker-compose.yml that is missing, at random. What is there is never changed: the master
# key opens every stored graph, so keep a copy of this folder where the machine's backups are not.
set -eu
umask 077

folder=$(dirname "$0")/secrets
mkdir -p "$folder"

random() { od -A n -t x1 -N "$1" /dev/urandom | tr -d ' \n'; }
# Whole or not at all: half a key that stays would be taken for one.
make() { [ -s "$folder/$1" ] || { printf '%s' "$2" > "$folder/.$1" && mv "$folder/.$1" "$folder/$1"; }; }
value() { cat "$folder/$1"; }

for name in postgres_superuser postgres_migrator postgres_app postgres_reader grafana_admin; do
    make "${name}_password" "$(random 24)"
done
for name in master_key fingerprint_key head_signing_key; do
    make "graphveil_$name" "$(random 32)"
done
# What the ledger's heads are verified with; what signs them goes to those alone who sign. An Ed25519 key in
# PKCS #8 is these 16 bytes and its seed, and the public one ends with its 32 bytes (RFC 8410).
bytes() { for byte in $(printf %s "$1" | sed 's/../0x& /g'); do printf "\\$(printf %03o "$byte")"; done; }
public=$(bytes "302e020100300506032b657004220420$(value graphveil_head_signing_key)" \
    | openssl pkey -inform DER -pubout -outform DER | tail -c 32 | od -A n -t x1 | tr -d ' \n')
[ ${#public} = 64 ] || { echo "openssl made no public key of graphveil_head_signing_key" >&2; exit 1; }
make graphveil_head_public_keys "$public"
# What signs evidence packs is made of it, one way: core/checks/evidence_keys.py.
evidence=$(printf 'graphveil evidence key' \
    | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$(value graphveil_head_signing_key)" | sed 's/^.*= //')
[ ${#evidence} = 64 ] || { echo "openssl made no key of graphveil_head_signing_key" >&2; exit 1; }
make graphveil_evidence_signing_key "$evidence"
make redis_password "$(random 24)"
make graphveil_storage_access_key_id "$(random 10)"
make graphveil_storage_secret_access_key "$(random 24)"

make graphveil_database_url "postgresql+psycopg://graphveil_app:$(value postgres_app_password)@postgres/graphveil"
make graphveil_migrator_url \
    "postgresql+psycopg://graphveil_migrator:$(value postgres_migrator_password)@postgres/graphveil"
make graphveil_redis_url "redis://:$(value redis_password)@redis:6379/0"
make redis_configuration "requirepass $(value redis_password)
dir /data
appendonly yes
maxmemory-policy noeviction
"
make storage_identities "{\"identities\": [{\"name\": \"graphveil\", \"credentials\": [{\"accessKey\": \"$(
    value graphveil_storage_access_key_id)\", \"secretKey\": \"$(
    value graphveil_storage_secret_access_key)\"}], \"actions\": [\"Read:graphveil\", \"Write:graphveil\",
    \"List:graphveil\", \"Tagging:graphveil\"]}]}"

# Compose hands a file to a container as it stands. The processes there run under ids of their own, so the
# files are readable; the folder is not.
chmod 700 "$folder"
chmod 644 "$folder"/*
echo "The secrets are in $folder."
