"""The forest elsewhere: frozen, ONNX, treelite, SHAP. These are copies: deletion does not reach them."""

import numpy as np
import onnxruntime
import shap
import treelite
from sklearn.datasets import load_iris

from deciduous import DareForestClassifier
from deciduous.export import to_onnx, to_shap, to_treelite
from deciduous.pictures import export_text

X, y = load_iris(return_X_y=True)
rows = X.astype(np.float32)
forest = DareForestClassifier(n_estimators=20, random_state=0).fit(X, y)
ours = forest.predict_proba(X)

print("Frozen:", forest.freeze().memory_usage())
session = onnxruntime.InferenceSession(to_onnx(forest).SerializeToString())
_, by_onnx = session.run(None, {session.get_inputs()[0].name: rows})
print("ONNX differs by", float(np.abs(by_onnx - ours).max()))
by_treelite = treelite.gtil.predict(to_treelite(forest), rows).reshape(ours.shape)
print("treelite differs by", float(np.abs(by_treelite - ours).max()))
explanation = shap.TreeExplainer(to_shap(forest)).shap_values(rows[:1])
print("SHAP values of the first flower:", np.asarray(explanation).round(3).tolist())
print(export_text(forest, tree=0, feature_names=["sepal l", "sepal w", "petal l", "petal w"], max_depth=2))
