"""Reads the CSV file of a measurement and draws it: plot.py CSV PNG. Prints what it found as JSON."""

import json
import sys

import matplotlib
import pandas as pd

matplotlib.use("Agg")

results = pd.read_csv(sys.argv[1], index_col=0).sort_values(by="Concurrency")
results.plot(y=["p50 latency", "p90 latency", "p95 latency", "p99 latency"], xlabel="concurrency", ylabel="us")
figure = results.plot(y="Inferences/Second", marker="o").get_figure()
figure.savefig(sys.argv[2])
print(
    json.dumps(
        {
            "columns": [results.index.name, *results.columns],
            "concurrency": results.index.tolist(),
            "types": sorted({str(kind.kind) for kind in results.dtypes}),
            "throughput": results["Inferences/Second"].tolist(),
            "slowest": int(results["p99 latency"].max()),
        }
    )
)
