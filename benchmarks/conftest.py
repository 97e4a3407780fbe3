"""The mark of the quick benchmarks, and an example of your own metric: the study's TCR/s."""

import math

import encoder

from pytest_ngraph import Metric


def pytest_configure(config):
    config.addinivalue_line("markers", "quick: something of everything that the study has, in a few minutes")


def pytest_ngraph_metrics(records):
    """Return the transfer cost reduction per second (study, section IV-B1).

    It is the bytes saved in sending each sample, times the samples compressed per second. A wider encoder may save more
    bytes and still score lower, because it is slower.
    """
    return [
        Metric("study.tcr_per_s", record.case, record.throughput_interval.scaled(saved_bytes()))
        for record in records
        if record.outcome == "measured" and record.case.workload == "encoder:build"
    ]


def saved_bytes():
    """Return the bytes saved for one image, with a byte for each value of the image and of its latent."""
    _, height, width = encoder.IMAGE
    shrunk = 2**encoder.STEPS
    return math.prod(encoder.IMAGE) - encoder.LATENT_CHANNELS * (height // shrunk) * (width // shrunk)
