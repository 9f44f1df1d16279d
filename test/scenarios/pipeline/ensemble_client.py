"""Sends an image file as it is to the pipeline on the server: ensemble_client.py URL IMAGE"""

import sys

import numpy as np
import tritonclient.http as httpclient

client = httpclient.InferenceServerClient(url=sys.argv[1])
data = np.expand_dims(np.fromfile(sys.argv[2], dtype=np.uint8), axis=0)
image = httpclient.InferInput("input_image", data.shape, datatype="UINT8")
image.set_data_from_numpy(data, binary_data=True)
response = client.infer(model_name="ensemble_model", inputs=[image])
print(response.as_numpy("recognized_text").astype(str)[0])
