"""The mark of the quick benchmarks, and a metric of one's own: the study's TCR/s."""

import math

import encoder

from pytest_ngraph import Metric


def pytest_configure(config):
    config.addinivalue_line("markers", "quick: something of everything that the study has, in a few minutes")


def pytest_ngraph_metrics(records):
    """Transfer cost reduction per second (study, section IV-B1): the bytes that each sample no longer takes to send,
    times the samples compressed in a second. A wider encoder may save more and still lose, because it is slower."""
    return [
        Metric("study.tcr_per_s", record.case, record.throughput_interval.scaled(saved_bytes()))
        for record in records
        if record.outcome == "measured" and record.case.workload == "encoder:build"
    ]


def saved_bytes():
    """Of one image, with a byte for each value of the image and of its latent."""
    _, height, width = encoder.IMAGE
    shrunk = 2**encoder.STEPS
    return math.prod(encoder.IMAGE) - encoder.LATENT_CHANNELS * (height // shrunk) * (width // shrunk)
