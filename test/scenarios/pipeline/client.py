"""Reads the words in an image with two models, one call after the other: client.py URL IMAGE"""

import sys

import cv2
import steps
import tritonclient.http as httpclient

client = httpclient.InferenceServerClient(url=sys.argv[1])

image = cv2.resize(cv2.imread(sys.argv[2]), (steps.WIDTH, steps.HEIGHT))
blob = steps.detection_preprocessing(image)
detection_input = httpclient.InferInput("input_images:0", blob.shape, datatype="FP32")
detection_input.set_data_from_numpy(blob, binary_data=True)
response = client.infer(model_name="text_detection", inputs=[detection_input])

scores = response.as_numpy("feature_fusion/Conv_7/Sigmoid:0")
geometry = response.as_numpy("feature_fusion/concat_3:0")
for part in steps.detection_postprocessing(scores, geometry, image):
    recognition_input = httpclient.InferInput("input.1", part.shape, datatype="FP32")
    recognition_input.set_data_from_numpy(part, binary_data=True)
    response = client.infer(model_name="text_recognition", inputs=[recognition_input])
    print(steps.recognition_postprocessing(response.as_numpy("307")))
