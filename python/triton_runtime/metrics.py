"""Metric families of a model's own. The numbers live in the server; every operation asks it."""

import enum

from .arguments import text_of
from .errors import TritonModelException, no_constructor, wrong_arguments

DELETED = (
    "Invalid metric operation as the corresponding 'MetricFamily' has been deleted. The 'MetricFamily' object should be "
    "deleted AFTER its corresponding 'Metric' objects have been deleted."
)


class MetricKind(enum.Enum):
    COUNTER = 0
    GAUGE = 1
    HISTOGRAM = 2


class MetricFamily:
    """A named metric of one kind. Its series are made with Metric()."""

    COUNTER = MetricKind.COUNTER
    GAUGE = MetricKind.GAUGE
    HISTOGRAM = MetricKind.HISTOGRAM

    _channel = None

    def __init__(self, name, description, kind):
        # The end of an object whose making failed must find it.
        self._id = None
        texts = text_of(name), text_of(description)
        if None in texts or not isinstance(kind, MetricKind):
            signature = "c_python_backend_utils.MetricFamily(name: str, description: str, kind: MetricKind)"
            raise wrong_arguments(signature, (name, description, kind), {})
        self._kind = kind
        self._state = _FamilyState()
        arguments = {"name": texts[0], "description": texts[1], "kind": kind.value}
        self._id = _call("Error when creating MetricFamily: ", "metric_family", arguments)

    def Metric(self, labels=None, buckets=None):
        if labels is not None and not isinstance(labels, dict):
            raise TritonModelException("Failed to create metric. Labels must be a dictionary.")
        if buckets is not None and not isinstance(buckets, list):
            raise TritonModelException("Failed to create metric. Buckets must be a list.")
        if self._kind is MetricKind.HISTOGRAM:
            if buckets is None:
                raise TritonModelException("Failed to create metric. Missing required buckets.")
        elif buckets:
            raise TritonModelException("Failed to create metric. Unexpected buckets found.")
        arguments = {
            "family": self._id,
            "labels": [[_label(key), _label(value) if isinstance(value, str) else None] for key, value in (labels or {}).items()],
            "buckets": [repr(float(bound)) for bound in buckets or []],
        }
        return Metric._of(self._state, _call("Error when creating Metric: ", "metric", arguments))

    def __del__(self):
        if self._id is not None and MetricFamily._channel is not None:
            self._state.deleted = True
            MetricFamily._channel.notify("metric_family_delete", {"id": self._id})


def _label(value):
    text = text_of(str(value))
    if text is None:
        raise TritonModelException("Failed to create metric. The label %a has no UTF-8 form." % str(value))
    return text


class _FamilyState:
    deleted = False


class Metric:
    """One series of a family."""

    _id = None

    def __init__(self, *args, **kwargs):
        raise no_constructor("Metric")

    @classmethod
    def _of(cls, family, number):
        metric = cls.__new__(cls)
        metric._family = family
        metric._id = number
        return metric

    def increment(self, value):
        self._change("increment", "Failed to increment metric value: ", value)

    def set(self, value):
        self._change("set", "Failed to set metric value: ", value)

    def observe(self, value):
        self._change("observe", "Failed to observe metric value: ", value)

    def value(self):
        self._check()
        return float(_call("Failed to get metric value: ", "metric_value", {"id": self._id}))

    def _change(self, operation, prefix, value):
        self._check()
        _call(prefix, "metric_" + operation, {"id": self._id, "value": repr(float(value))})

    def _check(self):
        if self._family.deleted:
            raise TritonModelException(DELETED)

    def __del__(self):
        if self._id is not None and MetricFamily._channel is not None:
            MetricFamily._channel.notify("metric_delete", {"id": self._id})


def _call(prefix, method, arguments):
    try:
        return MetricFamily._channel.call(method, arguments)
    except TritonModelException as error:
        raise TritonModelException(prefix + str(error)) from None
