"""Metrics of a model without a server: numbers of this process, which nobody reads but the model itself."""

import re

from .errors import TritonModelException
from .metrics import MetricKind

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class LocalMetrics:
    """Takes the calls of triton_runtime.metrics and refuses what a server refuses, in the same words."""

    def __init__(self, instance):
        self._instance = instance
        # Kinds of families and [kind, value] of series, by number; kinds by name of the family.
        self._families = {}
        self._series = {}
        self._kinds = {}
        self._next = 1

    def call(self, method, arguments):
        if method == "metric_family":
            return self._keep(self._families, self._family(arguments["name"], MetricKind(arguments["kind"])))
        if method == "metric":
            kind = self._families[arguments["family"]]
            self._check_labels(kind, arguments["labels"])
            return self._keep(self._series, [kind, 0.0])
        series = self._series[arguments["id"]]
        if method == "metric_value":
            self._require(series[0] is not MetricKind.HISTOGRAM, series[0], "Value")
            return repr(series[1])
        self._change(series, method[len("metric_") :], float(arguments["value"]))
        return None

    def _family(self, name, kind):
        if not _NAME.fullmatch(name):
            raise self._refusal("Invalid metric name")
        if self._kinds.setdefault(name, kind) is not kind:
            raise self._refusal("Family name already exists with different type")
        return kind

    def _check_labels(self, kind, labels):
        for name, value in labels:
            if value is None:
                raise self._refusal("attempt to access JSON non-string as string")
            if not _LABEL.fullmatch(name) or (kind is MetricKind.HISTOGRAM and name == "le"):
                raise self._refusal("Invalid label name")

    def _change(self, series, operation, value):
        kind = series[0]
        if operation == "increment":
            self._require(kind is not MetricKind.HISTOGRAM, kind, "Increment")
            if kind is MetricKind.COUNTER and value < 0:
                text = "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values."
                raise self._refusal(text)
            series[1] += value
        elif operation == "set":
            self._require(kind is MetricKind.GAUGE, kind, "Set")
            series[1] = value
        else:
            self._require(kind is MetricKind.HISTOGRAM, kind, "Observe")

    def _require(self, possible, kind, operation):
        if not possible:
            raise self._refusal("TRITONSERVER_METRIC_KIND_%s does not support %s" % (kind.name, operation))

    def _refusal(self, text):
        return TritonModelException("Failed to process the request for model '%s', message: %s" % (self._instance, text))

    def _keep(self, table, value):
        number = self._next
        self._next += 1
        table[number] = value
        return number
