"""Studies, trials, reports and amendments.

Migrations stand on their own: they import nothing from the package, because the package changes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
UNFINISHED = sa.text("state NOT IN ('completed', 'infeasible', 'failed')")


def upgrade() -> None:
    """Create the tables."""
    time = sa.Text() if op.get_bind().dialect.name == "sqlite" else sa.DateTime(timezone=True)
    op.create_table(
        "photinus_studies",
        sa.Column("id", BIG, primary_key=True),
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("algorithm", sa.Text, nullable=False),
        sa.Column("seed", BIG, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", time, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("num_trials", BIG, nullable=False),
        sa.Column("last_event", BIG, nullable=False),
        sa.Column("lock_owner", sa.Text),
        sa.Column("lock_expires_at", time),
        sa.UniqueConstraint("project", "name", name="photinus_studies_by_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "photinus_trials",
        sa.Column(
            "study_id", BIG, sa.ForeignKey("photinus_studies.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("number", BIG, primary_key=True, autoincrement=False),
        sa.Column("params", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("values", sa.Text),
        sa.Column("message", sa.Text),
        sa.Column("worker", sa.Text),
        sa.Column("created_at", time),
        sa.Column("started_at", time),
        sa.Column("completed_at", time),
        sa.Column("lease_expires_at", time),
        sa.Column("attempts", BIG, nullable=False),
        sa.Column("created_event", BIG, nullable=False),
        sa.Column("asked_event", BIG),
        sa.Column("completed_event", BIG),
        sa.Column("updated_event", BIG, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("algorithm", sa.Text),
        sa.Column("engine_version", sa.Text),
        sa.Column("metadata", sa.Text, nullable=False),
    )
    op.create_index(
        "photinus_trials_open",
        "photinus_trials",
        ["study_id", "state", "number"],
        sqlite_where=UNFINISHED,
        postgresql_where=UNFINISHED,
    )
    for name, columns in (
        (
            "photinus_reports",
            [
                sa.Column("step", BIG, primary_key=True, autoincrement=False),
                sa.Column("values", sa.Text, nullable=False),
                sa.Column("at", time, nullable=False),
            ],
        ),
        (
            "photinus_amendments",
            [
                sa.Column("event", BIG, primary_key=True, autoincrement=False),
                sa.Column("old_values", sa.Text, nullable=False),
                sa.Column("new_values", sa.Text, nullable=False),
                sa.Column("at", time, nullable=False),
            ],
        ),
    ):
        op.create_table(
            name,
            sa.Column("study_id", BIG, primary_key=True),
            sa.Column("number", BIG, primary_key=True, autoincrement=False),
            *columns,
            sa.ForeignKeyConstraint(
                ["study_id", "number"],
                ["photinus_trials.study_id", "photinus_trials.number"],
                ondelete="CASCADE",
            ),
            sqlite_with_rowid=False,
        )
