"""The forest in scikit-learn's tools: a pipeline, a grid search over several processes, calibration, importances."""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciduous import DareForestClassifier

if __name__ == "__main__":
    data = load_wine()
    X, y = data.data, data.target
    pipeline = make_pipeline(StandardScaler(), DareForestClassifier(n_estimators=50, random_state=0))
    print("Accuracy in a pipeline:", cross_val_score(pipeline, X, y, cv=5).mean().round(3))

    grid = {"random_depth": [0, 2, 4], "n_thresholds": [5, 25]}
    search = GridSearchCV(DareForestClassifier(n_estimators=20, random_state=0), grid, cv=3, n_jobs=2).fit(X, y)
    print("Best of the grid:", search.best_params_)

    calibrated = CalibratedClassifierCV(DareForestClassifier(n_estimators=20, random_state=0), cv=3).fit(X, y)
    print("Calibrated shares:", calibrated.predict_proba(X[:1]).round(2))

    importance = permutation_importance(search.best_estimator_, X, y, n_repeats=3, random_state=0).importances_mean
    print("What matters most:", data.feature_names[importance.argmax()])
