"""Alembic's environment: runs the migrations on the given connection."""

from alembic import context

from app.stores.postgres.pairs.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
