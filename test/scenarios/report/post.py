"""Posts a request as plain JSON: post.py URL"""

import sys

import requests

body = {
    "inputs": [
        {"name": "input", "shape": [5], "datatype": "BYTES", "data": ["measure", "a", "model", "plot", "it"]},
    ]
}
response = requests.post(f"http://{sys.argv[1]}/v2/models/bloom-560m/infer", json=body)
response.raise_for_status()
print(response.headers["Content-Type"])
print(*response.json()["outputs"][0]["data"])
