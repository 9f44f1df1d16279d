"""What both pipelines do before, between and after the two models."""

import math

import cv2
import numpy as np

WIDTH, HEIGHT = 640, 480
ALPHABET = "-0123456789abcdefghijklmnopqrstuvwxyz"


def detection_preprocessing(image):
    blob = cv2.dnn.blobFromImage(image, 1.0, (WIDTH, HEIGHT), (123.68, 116.78, 103.94), True, False)
    return np.transpose(blob, (0, 2, 3, 1))


def decode_boxes(scores, geometry, threshold):
    boxes, confidences = [], []
    for y, x in zip(*np.nonzero(scores >= threshold)):
        top, right, bottom, left, angle = (float(value) for value in geometry[y, x])
        height, width = top + bottom, right + left
        cos, sin = math.cos(angle), math.sin(angle)
        corner = (x * 4.0 + cos * right + sin * bottom, y * 4.0 - sin * right + cos * bottom)
        first = (-sin * height + corner[0], -cos * height + corner[1])
        second = (-cos * width + corner[0], sin * width + corner[1])
        center = (0.5 * (first[0] + second[0]), 0.5 * (first[1] + second[1]))
        boxes.append((center, (width, height), -1.0 * angle * 180.0 / math.pi))
        confidences.append(float(scores[y, x]))
    return boxes, confidences


def crop(image, box):
    points = cv2.boxPoints(box).astype(np.float32)
    target = np.array([[0, 32], [0, 0], [100, 0], [100, 32]], np.float32)
    upright = cv2.warpPerspective(image, cv2.getPerspectiveTransform(points, target), (100, 32))
    gray = cv2.cvtColor(upright, cv2.COLOR_BGR2GRAY)
    return (gray / 255.0).astype(np.float32)[np.newaxis, np.newaxis]


def detection_postprocessing(scores, geometry, image):
    boxes, confidences = decode_boxes(scores[0, :, :, 0], geometry[0], 0.5)
    kept = cv2.dnn.NMSBoxesRotated(boxes, confidences, 0.5, 0.4)
    return [crop(image, boxes[index]) for index in sorted(kept, key=lambda index: boxes[index][0][1])]


def recognition_postprocessing(scores):
    text, last = "", 0
    for step in np.argmax(scores[0], axis=1):
        if step != last and step != 0:
            text += ALPHABET[step]
        last = step
    return text
