"""A person asks for erasure: all rows of theirs leave the model, the saved file follows, and there is proof."""

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

import deciduous
from deciduous import DareForestClassifier

X, y = load_breast_cancer(return_X_y=True)
visits = [f"visit-{i}" for i in range(len(X))]
patients = [f"patient-{i // 4}" for i in range(len(X))]

forest = DareForestClassifier(n_estimators=50).fit(X, y, ids=visits, subjects=patients)
path = Path(tempfile.mkdtemp()) / "clinic.forest"
forest.save(path)

forest = deciduous.load(path)
print("Rows of patient-17:", forest.ids_of(["patient-17"]))
print("What it will take:", forest.deletion_cost(subjects=["patient-17"]))
report = forest.delete(subjects=["patient-17"])
forest.save(path)

print("Deleted:", report.ids)
print("Is it the forest that never saw them?", "yes" if forest.verify() else "NO")
print("Is anything of them in the file?", "yes" if b'"s:patient-17"' in path.read_bytes() else "no")
