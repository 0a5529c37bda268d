"""A pipeline tuned in place of RandomizedSearchCV, with the study behind it.

pip install "photinus[sklearn]"
python examples/sklearn_search.py
"""

from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from photinus.integrations.sklearn_search import PhotinusSearchCV


def main() -> None:
    """Search, then ask the study what it has learned."""
    X, y = load_breast_cancer(return_X_y=True)
    search = PhotinusSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {
            "svc__C": loguniform(1e-2, 1e3),
            "svc__gamma": (1e-5, 1e0, "log-uniform"),
            "svc__kernel": ["rbf", "sigmoid"],
        },
        n_iter=8,
        n_points=2,
        n_jobs=2,
        cv=3,
        random_state=0,
    )
    search.fit(X, y)
    print(f"accuracy {search.best_score_:.3f} with {search.best_params_}")

    point = {"svc__C": 1.0, "svc__gamma": 0.1, "svc__kernel": "rbf"}
    [expected] = search.study_.predict([point])  # nothing is fitted
    print(f"at {point} the model expects {expected['score']['q50']:.3f}")


if __name__ == "__main__":
    main()
