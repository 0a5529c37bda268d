"""What travels over HTTP, as pydantic models: requests are checked by them, and the OpenAPI document is made of them.

A request is strict: no text in place of a number, no field that is not known, neither NaN nor infinities, which JSON
does not have. What the domain says of a value (a parameter out of bounds, an unknown objective) it says itself, in
its own words. Answers are described here and written by the domain's own `to_dict`.
"""

from photinus.wire.answers import AmendmentBody as AmendmentBody
from photinus.wire.answers import BestBody as BestBody
from photinus.wire.answers import CountBody as CountBody
from photinus.wire.answers import ErrorBody as ErrorBody
from photinus.wire.answers import ErrorDetail as ErrorDetail
from photinus.wire.answers import ExportedStudy as ExportedStudy
from photinus.wire.answers import Health as Health
from photinus.wire.answers import PredictionList as PredictionList
from photinus.wire.answers import ReportBody as ReportBody
from photinus.wire.answers import StudyBody as StudyBody
from photinus.wire.answers import StudyDocument as StudyDocument
from photinus.wire.answers import StudyPage as StudyPage
from photinus.wire.answers import TrialBody as TrialBody
from photinus.wire.answers import TrialList as TrialList
from photinus.wire.answers import TrialPage as TrialPage
from photinus.wire.answers import WhoAmI as WhoAmI
from photinus.wire.fields import State as State
from photinus.wire.problems import CategoricalParameter as CategoricalParameter
from photinus.wire.problems import DiscreteParameter as DiscreteParameter
from photinus.wire.problems import FloatParameter as FloatParameter
from photinus.wire.problems import IntParameter as IntParameter
from photinus.wire.problems import MetricBody as MetricBody
from photinus.wire.problems import ProblemBody as ProblemBody
from photinus.wire.problems import SpaceBody as SpaceBody
from photinus.wire.requests import AddedTrial as AddedTrial
from photinus.wire.requests import AddedTrials as AddedTrials
from photinus.wire.requests import Amended as Amended
from photinus.wire.requests import Ask as Ask
from photinus.wire.requests import Held as Held
from photinus.wire.requests import Lease as Lease
from photinus.wire.requests import Login as Login
from photinus.wire.requests import MetadataChanges as MetadataChanges
from photinus.wire.requests import NewStudy as NewStudy
from photinus.wire.requests import Outcome as Outcome
from photinus.wire.requests import Points as Points
from photinus.wire.requests import Reported as Reported
from photinus.wire.requests import Result as Result
from photinus.wire.requests import Results as Results
from photinus.wire.requests import Told as Told
