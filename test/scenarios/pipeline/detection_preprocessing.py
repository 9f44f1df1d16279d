import cv2
import steps
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            data = pb_utils.get_input_tensor_by_name(request, "detection_preprocessing_input").as_numpy()
            image = cv2.resize(cv2.imdecode(data.reshape(-1), cv2.IMREAD_COLOR), (steps.WIDTH, steps.HEIGHT))
            output = pb_utils.Tensor("detection_preprocessing_output", steps.detection_preprocessing(image))
            responses.append(pb_utils.InferenceResponse([output]))
        return responses
