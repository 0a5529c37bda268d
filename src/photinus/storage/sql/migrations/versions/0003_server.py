"""What a server needs: tokens, keys of requests, who created a study, and progress without reading trials."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the table, the columns and the indexes, each of which has only the rows that it is for."""
    time = sa.Text() if op.get_bind().dialect.name == "sqlite" else sa.DateTime(timezone=True)
    op.create_table(
        "photinus_tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("project", sa.Text),
        sa.Column("secret_hash", sa.Text, nullable=False),
        sa.Column("created_at", time, nullable=False),
        sa.Column("expires_at", time),
        sa.Column("revoked_at", time),
    )
    op.add_column("photinus_studies", sa.Column("request_key", sa.Text))
    op.add_column("photinus_studies", sa.Column("creator", sa.Text))
    op.add_column("photinus_trials", sa.Column("added_key", sa.Text))
    op.add_column("photinus_trials", sa.Column("request_key", sa.Text))
    op.add_column("photinus_trials", sa.Column("updated_at", time))
    op.execute("UPDATE photinus_trials SET updated_at = coalesce(completed_at, started_at, created_at)")
    for name, table, columns, condition in (
        ("photinus_studies_by_creator", "photinus_studies", ["creator"], "creator IS NOT NULL"),
        ("photinus_trials_by_adding", "photinus_trials", ["study_id", "added_key"], "added_key IS NOT NULL"),
        (
            "photinus_trials_by_request",
            "photinus_trials",
            ["study_id", "request_key"],
            "request_key IS NOT NULL",
        ),
        (
            "photinus_trials_unmeasured",
            "photinus_trials",
            ["study_id", "state"],
            "state IN ('infeasible', 'failed')",
        ),
    ):
        where = sa.text(condition)
        op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
