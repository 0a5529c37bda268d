"""Models, pictures and reports of a study on a server, made by the same engine in another process."""

import pytest

import photinus as ph
from photinus.report import write_report

SPACE = {"x": ph.Float(0, 1), "c": ph.Categorical(["a", "b"])}


@pytest.mark.long
def test_the_model_is_the_same_as_here(server, tmp_path):
    settings = {"name": "model", "seed": 3}
    here, there = ph.create_study(SPACE, **settings), server.create_study(SPACE, **settings)
    for study in (here, there):
        for _ in range(6):
            [trial] = study.ask()
            study.tell(trial, (trial.params["x"] - 0.3) ** 2)
    assert [trial.params for trial in there.trials] == [trial.params for trial in here.trials]
    assert [trial.reason for trial in there.trials] == [trial.reason for trial in here.trials]
    points = [{"x": 0.1, "c": "a"}, {"x": 0.9, "c": "b"}]
    assert there.predict(points) == here.predict(points)
    assert there.predict(points, max_trials=3) == here.predict(points, max_trials=3)
    assert there.describe_model() == here.describe_model()
    for kind in ("history", "model", "contour", "importance"):
        drawn = [getattr(study.plot, kind)().to_plotly_json() for study in (here, there)]
        assert len(drawn[0]["data"]) == len(drawn[1]["data"]) > 0
    page = write_report(there, tmp_path / "report.html")
    assert "model" in page.read_text()
