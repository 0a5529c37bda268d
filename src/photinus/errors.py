"""Every exception Photinus raises on purpose.

    PhotinusError
    ├── ArgumentError     (ValueError)           an argument of a call is wrong
    ├── SpaceError        (ValueError)           a parameter or search space is badly defined
    │   └── ParameterError                       parameter values that do not fit their search space
    ├── ProblemError      (ValueError)           objectives badly defined, or the wrong question for them
    ├── ValuesError       (ValueError)           measured values that do not fit the objectives
    ├── DuplicateStudy    (ValueError)           a study of that name exists
    ├── StudyMismatch     (ValueError)           a stored study differs from the one asked for
    ├── UnknownStudy      (LookupError)          no study of that name
    ├── UnknownTrial      (LookupError)          no trial of that number
    ├── UnknownToken      (LookupError)          no token of that id
    ├── NoCompletedTrial  (LookupError)          the best of nothing was asked for
    ├── InvalidState      (RuntimeError)         the trial's state does not allow the change
    │   └── AlreadyTold                          the trial has another outcome already
    ├── SuggestionError   (RuntimeError)         the algorithm could not suggest
    │   └── SuggestionTimeout                    it took longer than a server lets a caller wait
    ├── ObjectiveError    (RuntimeError)         an objective failed with an error that cannot be passed on
    ├── ExecutorBroken    (RuntimeError)         a worker's death broke the executor that was given
    ├── StorageError      (RuntimeError)         the store failed
    │   ├── SchemaMismatch                       the store is of an older or newer version of Photinus
    │   └── LockLost                             the right to suggest passed to someone else meanwhile
    ├── AuthenticationError (PermissionError)    a server was given no token, or one that is not valid
    ├── PermissionDenied  (PermissionError)      a token may not do that
    ├── TooManyRequests   (RuntimeError)         a server has too much to do, or a limit is reached
    ├── ConnectionLost    (ConnectionError)      a server could not be reached for longer than is retried
    ├── ServerError       (RuntimeError)         a server failed in a way that it did not expect
    ├── UnsupportedError  (NotImplementedError)  a sensible wish that is not supported yet
    └── MissingDependency (ImportError)          an optional package is not installed

A message names the invariant, the offending value and the remedy. Each error carries its message as its only
argument, so that it survives pickling and any wire. A call that raises has changed nothing.
"""


class PhotinusError(Exception):
    """Root of everything Photinus raises on purpose."""


class ArgumentError(PhotinusError, ValueError):
    """An argument of a call is wrong."""


class SpaceError(PhotinusError, ValueError):
    """A parameter or search space is badly defined."""


class ParameterError(SpaceError):
    """Parameter values do not fit their search space."""


class ProblemError(PhotinusError, ValueError):
    """Objectives are badly defined, or a question was asked that does not fit them."""


class ValuesError(PhotinusError, ValueError):
    """Measured values do not fit the objectives."""


class DuplicateStudy(PhotinusError, ValueError):
    """A study of that name exists already."""


class StudyMismatch(PhotinusError, ValueError):
    """A stored study differs from the one asked for."""


class UnknownStudy(PhotinusError, LookupError):
    """There is no such study."""


class UnknownTrial(PhotinusError, LookupError):
    """There is no such trial."""


class UnknownToken(PhotinusError, LookupError):
    """There is no such token."""


class NoCompletedTrial(PhotinusError, LookupError):
    """The best trial was asked for while none is completed."""


class InvalidState(PhotinusError, RuntimeError):
    """The trial's state does not allow the change."""


class AlreadyTold(InvalidState):
    """The trial has another outcome already: the first one counts."""


class SuggestionError(PhotinusError, RuntimeError):
    """The algorithm could not suggest; its own error is the cause."""


class SuggestionTimeout(SuggestionError):
    """A suggestion took longer than a server lets a caller wait; what comes of it later is not lost."""


class ObjectiveError(PhotinusError, RuntimeError):
    """An objective failed in a worker process with an error that cannot be passed on as it is."""


class ExecutorBroken(PhotinusError, RuntimeError):
    """A worker's death broke the whole executor that `optimize` was given; its own error is the cause."""


class StorageError(PhotinusError, RuntimeError):
    """The store failed."""


class SchemaMismatch(StorageError):
    """The store was written by an older or newer version of Photinus."""


class LockLost(StorageError):
    """The right to suggest for a study ran out and passed to someone else."""


class AuthenticationError(PhotinusError, PermissionError):
    """A server was given no token, or one that is not valid."""


class PermissionDenied(PhotinusError, PermissionError):
    """The token is valid, but may not do that."""


class TooManyRequests(PhotinusError, RuntimeError):
    """A server has too much to do at the moment, or a limit is reached."""


class ConnectionLost(PhotinusError, ConnectionError):
    """A server could not be reached for longer than is retried."""


class ServerError(PhotinusError, RuntimeError):
    """A server failed in a way that it did not expect; its log says more."""


class UnsupportedError(PhotinusError, NotImplementedError):
    """A sensible wish that is not supported yet."""


class MissingDependency(PhotinusError, ImportError):
    """An optional package is not installed."""
