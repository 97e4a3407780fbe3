"""Advice: what to deploy of a workload on a device, under limits, found by a race within a budget of time.

In: a workload and its axes (`candidates.py`), `Limits`, and a place that measures (`measuring.py`: the ordinary bench,
whose records go to the store). Out: an `Answer`: the pick, how sure it is, what it costs beside the others, and what
was dropped and why. Open `race.py` first, which decides what is measured next; `answer.py` says what follows from what
was measured, and `lines.py` says it in words.

The race is successive halving (Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", 2013;
Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", 2016): each rung keeps
the contenders and measures them for longer. Here each rung also adds candidates: first compilers, then their options,
then other batch sizes, precisions and threads. The last one measures what limits ask for.
"""
