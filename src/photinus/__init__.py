"""Photinus: black-box optimisation with Gaussian processes. Importing it imports no JAX."""

from photinus.client import connect as connect
from photinus.errors import AlreadyTold as AlreadyTold
from photinus.errors import PhotinusError as PhotinusError
from photinus.local import create_study as create_study
from photinus.local import load_study as load_study
from photinus.local import suggest as suggest
from photinus.minimize import minimize as minimize
from photinus.problem import ALGORITHMS as ALGORITHMS
from photinus.problem import Goal as Goal
from photinus.problem import Metric as Metric
from photinus.problem import Problem as Problem
from photinus.record import StudyState as StudyState
from photinus.space import Categorical as Categorical
from photinus.space import Discrete as Discrete
from photinus.space import Float as Float
from photinus.space import Int as Int
from photinus.space import SearchSpace as SearchSpace
from photinus.storage import MemoryStorage as MemoryStorage
from photinus.storage import Storage as Storage
from photinus.study import Study as Study
from photinus.trial import Suggestion as Suggestion
from photinus.trial import Trial as Trial
from photinus.trial import TrialState as TrialState

__version__ = "0.1.0"
