"""How a column of sentences becomes numbers: words, hashed words, latent directions.

Reuters news, is an article about grain? The first 1,554 texts train, later ones test; a kernel
machine and boosted trees predict from each form of the text, and from the columns that a selector
keeps of the words.

    python benchmarks/texts.py
"""

from __future__ import annotations

import argparse
import warnings
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from _external import load_external
from common import parse, require_data, sized, table
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from depmax import DependenceFilter, Expand, KernelRidgeElimination, Prepare

TRAINING = 1554


def forms() -> dict[str, Any]:
    """Transformers of a frame of one text column, by name."""
    texts = FunctionTransformer(lambda frame: frame["text"])
    dense = FunctionTransformer(lambda rows: rows.toarray(), accept_sparse=True)
    named = {f"the {count} words of Expand": Expand(n_words=count) for count in (100, 200, 500)}
    for count in (100, 256):
        hashed = HashingVectorizer(n_features=count, alternate_sign=False, norm=None)
        named[f"{count} hashed columns, tf-idf"] = make_pipeline(
            texts, hashed, TfidfTransformer(sublinear_tf=True), dense
        )
    for count in (200, 500):
        frequent = TfidfVectorizer(max_features=count, sublinear_tf=True)
        named[f"tf-idf of the {count} most frequent words"] = make_pipeline(texts, frequent, dense)
    for count in (20, 50):
        named[f"{count} latent directions (LSA)"] = make_pipeline(
            texts,
            TfidfVectorizer(sublinear_tf=True, min_df=2),
            TruncatedSVD(count, random_state=0),
        )
    for count in (5, 10, 20):
        for selector in (DependenceFilter, KernelRidgeElimination):
            named[f"{count} of 500 words by {selector.__name__}"] = make_pipeline(
                Expand(), Prepare(), selector(count)
            )
    return named


def main() -> None:
    """Print the table."""
    parse(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    require_data()
    news = load_external("reuters_grain_text")
    frame, y = pd.DataFrame({"text": list(news.X)}), np.asarray(news.y)
    last = sized(len(y), TRAINING + 100)
    first, later = slice(0, sized(TRAINING, 300)), slice(TRAINING, last)
    rows = []
    for name, form in sized(forms(), dict(list(forms().items())[:1])).items():
        started = process_time()
        train, test = form.fit_transform(frame[first], y[first]), form.transform(frame[later])
        seconds = process_time() - started
        scores = [
            balanced_accuracy_score(y[later], model.fit(train, y[first]).predict(test))
            for model in (
                make_pipeline(StandardScaler(), SVC(class_weight="balanced")),
                HistGradientBoostingClassifier(class_weight="balanced", random_state=0),
            )
        ]
        rows.append([name, train.shape[1], *(f"{score:.3f}" for score in scores), f"{seconds:.1f}"])
    table(["text as", "columns", "kernel machine", "boosted trees", "CPU s"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
