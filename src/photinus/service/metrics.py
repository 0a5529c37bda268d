"""What Prometheus is told: of this process; several workers of one server are several targets."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from photinus.trial import TrialState

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
REQUEST_BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

# What the numbers of `SuggestionService.stats` mean; those that end with `total` or `restarts` only ever grow.
ENGINE_NUMBERS = {
    "alive": "1 while the engine answers",
    "restarts": "Times the engine process was started again",
    "asks_waiting": "Asks that wait for the engine",
    "studies_running": "Studies that the engine suggests for at the moment",
    "questions_waiting": "Predictions and pictures that wait for the engine",
    "questions_running": "Predictions and pictures that the engine works on",
    "questions_total": "Predictions and pictures begun",
    "asks_total": "Asks received",
    "trials_total": "Trials made or claimed for asks",
    "calls_total": "Batches of suggestions begun",
    "seconds_total": "Seconds that the engine worked on suggestions",
    "failed_total": "Asks that got an error from the engine",
    "timed_out_total": "Asks and questions that waited too long",
    "refused_total": "Asks and questions refused because too many waited",
}

Stats = Callable[[], Mapping[str, float]]


class Metrics:
    """Counters of one server process, in a registry of their own."""

    def __init__(self, engine_stats: Stats) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "photinus_requests",
            "Requests answered",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "photinus_request_seconds",
            "Seconds from request to answer",
            ("method", "route"),
            buckets=REQUEST_BUCKETS_S,
            registry=self.registry,
        )
        self.running = Gauge("photinus_requests_running", "Requests being answered", registry=self.registry)
        self._asks = Counter("photinus_asks", "Asks answered with trials", registry=self.registry)
        self._asked_trials = Counter("photinus_trials_asked", "Trials handed out", registry=self.registry)
        self._suggestion_seconds = Histogram(
            "photinus_suggestion_seconds",
            "Seconds that an ask waited for its trials",
            ("algorithm",),
            buckets=REQUEST_BUCKETS_S,
            registry=self.registry,
        )
        self._told = Counter(
            "photinus_trials_told", "Trials that got an outcome", ("state",), registry=self.registry
        )
        self.registry.register(_EngineCollector(engine_stats))

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note that a request was answered."""
        known = method if method in METHODS else "OTHER"  # whoever sends requests must not make new series
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(known, route).observe(seconds)

    def count_ask(self, algorithm: str, num_trials: int, seconds: float) -> None:
        """Note that an ask was answered."""
        self._asks.inc()
        self._asked_trials.inc(num_trials)
        self._suggestion_seconds.labels(algorithm).observe(seconds)

    def count_told(self, state: TrialState) -> None:
        """Note that a trial got its outcome."""
        self._told.labels(state.value).inc()

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)


class _EngineCollector(Collector):
    """What the suggestion service knows of itself, read when Prometheus asks."""

    def __init__(self, stats: Stats) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        """The numbers by name."""
        for name, value in self._stats().items():
            grows = name.endswith(("total", "restarts"))
            family = CounterMetricFamily if grows else GaugeMetricFamily
            yield family(f"photinus_engine_{name}", ENGINE_NUMBERS.get(name, name), value=float(value))
