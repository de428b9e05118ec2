"""The schema's steps, run by Alembic from here: an installed package needs no alembic.ini."""
