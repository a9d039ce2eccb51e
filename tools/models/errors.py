"""What can go wrong with a model, each error named after what helps against it.

ModelError
├── the model's side: another model may answer; a pause may help
│   ├── ModelSetupError        unknown model, missing key or package
│   ├── ModelAuthError         401, 403
│   ├── ModelOutOfMoney        402, quota used up
│   ├── ModelRateLimited       429, with the wait asked for
│   └── ModelUnavailable       5xx, network, timeouts, nonsense answers; or nobody
└── the request's side: asking again unchanged cannot help
    ├── ModelRequestRefused    400 and 422 we have no better word for
    ├── ModelCapabilityMissing a feature this deployment lacks
    ├── ModelContextOverflow   prompt longer than the context
    ├── ModelContentFiltered   refused for its content
    ├── ModelTruncated         cut off at the cap on output
    ├── ModelBlank             finished, and said nothing
    └── ModelOutputInvalid     does not fit the schema
"""

from typing import ClassVar

from mendgraph.state.failure import FailureFacts, Layer
from mendgraph.tools.models.usage import Usage


class ModelError(Exception):
    """A model call that gave no usable answer.

    Attributes:
        remedy: What a person or the caller can do about it.
        model: Name of the model, when one was reached for.
        http_status: Status of the answer, when there was one.
        usage: What was spent until now, so that the caller can charge it.
        reasons: One line for each model that was tried.
        retry_after_s: The wait the provider asked for, in seconds.
    """

    remedy: ClassVar[str] = "Look at the message; nothing is known about this fault."
    transient: ClassVar[bool] = False
    """The same request may succeed a little later."""
    models_side: ClassVar[bool] = False
    """Another model may answer the same request."""

    def __init__(
        self,
        message: str,
        *,
        model: str | None = None,
        http_status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.model = model
        self.http_status = http_status
        self.retry_after_s = retry_after_s
        self.usage = Usage()
        self.reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say what happened, where, and what helps."""
        where = f"{self.model}: " if self.model else ""
        return f"{where}{self.message} [{self.remedy}]"

    def facts(self) -> FailureFacts:
        """Return the failure as data, for classification and reports."""
        return FailureFacts(
            message=self.message,
            layer=Layer.MODEL,
            exceptions=(f"{type(self).__module__}.{type(self).__name__}",),
            bases=tuple(base.__name__ for base in type(self).__mro__[1:-2]),
            http_status=self.http_status,
            service=self.model,
            problems=self.reasons,
        )


class ModelSetupError(ModelError):
    """The model cannot be opened as named."""

    remedy = "Check the model's name, its key and its package."
    models_side = True


class ModelAuthError(ModelError):
    """The key is missing, wrong, or may not use this model."""

    remedy = "Set a valid API key for this provider; do not retry."
    models_side = True


class ModelOutOfMoney(ModelError):
    """The account has no balance or quota left."""

    remedy = "Top up the account, then resume the run; do not retry."
    models_side = True


class ModelRateLimited(ModelError):
    """Too many requests for now."""

    remedy = "Wait as long as asked, or use a fallback model."
    transient = True
    models_side = True


class ModelUnavailable(ModelError):
    """The provider does not answer, or no model of those given does."""

    remedy = "Resume the run later, or give a fallback model."
    transient = True
    models_side = True


class ModelRequestRefused(ModelError):
    """The provider refuses this request as it is."""

    remedy = "The request must change; repeating it gives the same answer."


class ModelCapabilityMissing(ModelError):
    """This deployment lacks a feature that the request used.

    Attributes:
        feature: The field of `Capability` that turned out to be wrong.
        value: What it is instead.
    """

    remedy = "Do without this feature; the Reasoner does so by itself."

    def __init__(
        self,
        message: str,
        *,
        feature: str,
        value: bool | int | str | None = False,
        model: str | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message, model=model, http_status=http_status)
        self.feature = feature
        self.value = value


class ModelContextOverflow(ModelError):
    """The prompt and the cap on output exceed the model's context.

    Attributes:
        limit: Tokens the model takes, when the message says so.
        asked: Tokens the request came to, when the message says so.
    """

    remedy = "Shrink the prompt or use a model with a longer context."

    def __init__(
        self,
        message: str,
        *,
        limit: int | None = None,
        asked: int | None = None,
        model: str | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message, model=model, http_status=http_status)
        self.limit = limit
        self.asked = asked


class ModelContentFiltered(ModelError):
    """The provider refused the prompt or withheld the answer for its content."""

    remedy = "Change the wording of the task or ask a person; do not retry."


class ModelTruncated(ModelError):
    """The answer was cut off; what arrived is never repaired or accepted.

    Attributes:
        told: The provider said so; else the text itself shows it.
        by_reasoning: The reasoning left no tokens for the answer.
    """

    remedy = "Raise max_tokens, limit the reasoning, or ask for less at once."

    def __init__(
        self,
        message: str,
        *,
        told: bool = False,
        by_reasoning: bool = False,
        model: str | None = None,
    ) -> None:
        super().__init__(message, model=model)
        self.told = told
        self.by_reasoning = by_reasoning


class ModelBlank(ModelError):
    """The model finished and returned only blanks."""

    remedy = "Repeat the request, without JSON mode or thinking if it stays blank."


class ModelOutputInvalid(ModelError):
    """The answer does not fit the schema.

    Attributes:
        problems: One line for each misfit, fit to be shown to the model.
    """

    remedy = "Ask again and show only these problems."

    def __init__(
        self, message: str, *, problems: tuple[str, ...] = (), model: str | None = None
    ) -> None:
        super().__init__(message, model=model)
        self.problems = problems or (message,)
