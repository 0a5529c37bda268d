"""What makes reading cheap: an index for "changed since", and which trials have reports or amendments at all."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns, fill them from the tables that they sum up, and add the index."""
    for column, table in (("has_reports", "photinus_reports"), ("has_amendments", "photinus_amendments")):
        op.add_column(
            "photinus_trials", sa.Column(column, sa.Boolean, nullable=False, server_default=sa.false())
        )
        op.execute(
            f"UPDATE photinus_trials SET {column} = EXISTS (SELECT 1 FROM {table} AS part "
            "WHERE part.study_id = photinus_trials.study_id AND part.number = photinus_trials.number)"
        )
    op.create_index("photinus_trials_changed", "photinus_trials", ["study_id", "updated_event"])
