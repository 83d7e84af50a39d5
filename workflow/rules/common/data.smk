# Input and params functions of data.smk.


def corpus_arguments(wildcards):
    """Return the options of prepare_corpus for a corpus."""
    corpus = EXPERIMENT.corpora[wildcards.corpus]
    hub = corpus.source.hub
    place = (
        options(hub=hub.id, name=hub.name, split=hub.split, revision=hub.revision)
        if hub
        else options(file=source_files(corpus.source)[0])
    )
    return place + options(
        language=corpus.language,
        text_field=corpus.text_field,
        limit_documents=corpus.limit_documents,
        limit_bytes=corpus.limit_bytes,
        heldout_bytes=corpus.heldout_bytes,
    )
