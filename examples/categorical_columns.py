"""Categorical columns in tables of pandas and polars: the forest of the one-hot matrix, without the matrix."""

import numpy as np
import pandas as pd
import polars as pl
from sklearn.preprocessing import OneHotEncoder

from deciduous import DareForestClassifier

rng = np.random.default_rng(0)
n = 2000
shops = [f"shop {i:03}" for i in range(200)]
shop = rng.choice(shops, n)
payment = rng.choice(np.array(["card", "cash", None], dtype=object), n, p=[0.6, 0.3, 0.1])
amount = rng.gamma(2.0, 50.0, n)
returned = rng.random(n) < np.where(payment == "cash", 0.1, 0.3) + 0.3 * (amount > 150)

# Categories are parameters: listed here, so that a fit on fewer rows has the same ones.
categories = {"shop": shops, "payment": ["card", "cash", None]}
table = pd.DataFrame({"shop": shop, "payment": payment, "amount": amount})
forest = DareForestClassifier(n_estimators=20, categorical_features=categories, random_state=0).fit(table, returned)
print("Categories of payment:", forest.categories_[1])
print("Columns:", forest.n_features_in_, "Attributes:", len(forest.attribute_names()))

# The same rows in polars, whose Enum declares the shops by itself; payment is learned.
frame = pl.from_pandas(table).with_columns(pl.col("shop").cast(pl.Enum(shops)), pl.col("payment").cast(pl.Categorical))
by_polars = DareForestClassifier(n_estimators=20, random_state=0).fit(frame, returned)
print("Is the forest of the polars table the same?", by_polars.fingerprint() == forest.fingerprint())

encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
matrix = np.column_stack([encoder.fit_transform(table[["shop", "payment"]]), amount])
by_matrix = DareForestClassifier(n_estimators=20, random_state=0).fit(matrix, returned)
print("Is the forest of the one-hot matrix the same?", by_matrix.fingerprint() == forest.fingerprint())
print("Bytes of rows:", forest.memory_usage().data, "instead of", by_matrix.memory_usage().data)

new = pl.DataFrame({"shop": ["shop 007", "a new shop"], "payment": ["voucher", None], "amount": [20.0, 200.0]})
print("Unknown categories are none of them:", forest.predict_proba(new).round(2).tolist())

# A shop asks to be forgotten: its rows go. Its name is a parameter and stays, so it is better not a secret.
gone = np.flatnonzero(shop == "shop 007")
left = np.flatnonzero(shop != "shop 007")
forest.delete(gone)
again = DareForestClassifier(n_estimators=20, categorical_features=categories, random_state=0)
again.fit(table.iloc[left], returned[left], ids=left)
print("Is it the forest that never saw them?", again.fingerprint() == forest.fingerprint())
print("Does the forest know the name?", "shop 007" in forest.categories_[0])
print("Does the frozen forest?", b"shop 007" in forest.freeze().to_bytes())
