"""What answers look like, for the description of the API."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

Label = str | int | float | bool


class Column(BaseModel):
    """A column that is read. `kind` says what its values are: number, text, integer, uuid, or label."""

    name: str
    kind: str


class ModelSummary(BaseModel):
    """A model."""

    name: str
    task: str = Field(examples=["classification", "regression"])
    is_ready: bool = Field(description="Whether it follows its table.")


class ModelList(BaseModel):
    """The models that are served."""

    models: list[ModelSummary]


class Memory(BaseModel):
    """Bytes in use, by purpose."""

    data: int
    structure: int
    decision_stats: int
    leaf_stats: int
    total: int


class ModelDescription(ModelSummary):
    """All that is known of a model, without its seed."""

    source: str = Field(description="The table, view or query that it follows.")
    captures: bool
    columns: list[Column] = Field(description="What rows that are added need.")
    id: str
    target: str
    features: list[str] = Field(description="What rows to predict need.")
    classes: list[Label] | None
    params: dict[str, Any]
    n_rows: int
    n_trees: int
    fingerprint: str
    memory: Memory
    last_change: str
    last_sync: str | None
    requests_open: int
    requests_overdue: int


class Predictions(BaseModel):
    """Predictions in the order of the rows, all of one state of the forest."""

    predictions: list[Any] = Field(description="For each row its class or number, or its quantiles.")
    classes: list[Label] | None = Field(None, description="Of a classification: the columns of `probabilities`.")
    probabilities: list[list[float]] | None = None
    quantiles: list[float] | None = Field(None, description="Those that were asked for.")


class Change(BaseModel):
    """A change that is on the disk, in the table and in the forest."""

    n_rows: int = Field(description="Rows that were inserted or deleted.")
    receipt: int | None = Field(
        description="The number of the receipt, which may be of several changes that shared a sync. None if the forest "
        "did not see the rows, as they have no target."
    )
    fingerprint: str
    remains: str | None = Field(description="What is left to do in the database so that nothing of the rows is left.")


class Cost(BaseModel):
    """What it would take to delete rows. Nothing was changed."""

    n_rows: int
    n_nodes_rebuilt: int
    n_rows_retrained: int
    nodes_rebuilt_by_depth: list[int]
    rows_retrained_by_depth: list[int]
    expected_seconds: float | None = Field(description="What changes took lately; None if there were none.")
    n_waiting: int = Field(description="Changes that wait for their turn.")


class VerificationState(BaseModel):
    """A verification: `state` is waiting, running, done or failed, and `outcome` then exact, stale or broken."""

    id: str
    asked: str
    state: str
    step: str | None
    n_done: int | None
    n_steps: int | None
    outcome: str | None
    problem: str | None
    fingerprint: str | None
    n_receipts: int | None


class ReceiptEntry(BaseModel):
    """One entry of the record, with counts and commitments, and without values or ids of rows."""

    number: int
    kind: str
    time: str
    source: str
    requests: list[str]
    due: str | None
    subject: str | None = Field(description="A commitment, and no name.")
    idempotency: str | None
    n_rows: int | None
    n_added: int
    n_deleted: int
    n_updated: int
    n_people_erased: int
    n_people_changed: int
    before: str | None
    after: str | None
    parameters: str | None
    reason: str | None
    previous: str
    chain: str


class ReceiptList(BaseModel):
    """Receipts, oldest first."""

    receipts: list[ReceiptEntry]


class Health(BaseModel):
    """Whether the service answers, or follows its tables."""

    status: str
