"""Draws an image of signs that the two stand-in models can read: make_image.py FILE WORD...

A sign is a red mark and, to its right, a black panel of 100 x 32 pixels on which each letter is a grey bar."""

import sys

import cv2
import numpy as np

ALPHABET = "-0123456789abcdefghijklmnopqrstuvwxyz"

image = np.full((480, 640, 3), 255, np.uint8)
for row, word in enumerate(sys.argv[2:]):
    top, left = 40 + 80 * row, 120 + 40 * row
    image[top : top + 4, left - 4 : left] = (0, 0, 255)
    image[top : top + 32, left : left + 100] = 0
    for position, letter in enumerate(word):
        start = left + 2 + 8 * position
        image[top : top + 32, start : start + 4] = round(255 * ALPHABET.index(letter) / 36)
cv2.imwrite(sys.argv[1], image)
