#!/bin/sh
# Every step can run again: an existing database and an up-to-date schema are left as they are.
set -eu

export SQL_PLUGIN=postgres12

prepare() {
  database=$1
  versions=$2
  temporal-sql-tool --database "$database" create
  temporal-sql-tool --database "$database" setup-schema --version 0.0
  temporal-sql-tool --database "$database" update-schema --schema-dir "/etc/temporal/schema/postgresql/v12/$versions/versioned"
}

prepare temporal temporal
prepare temporal_visibility visibility
