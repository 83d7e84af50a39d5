# Which tokens two vocabularies share.


use rule job as intersect_vocabularies with:
    input:
        unpack(needs("intersect_vocabularies")),
    output:
        manifest=f"{PATHS.intersection('{source}', '{target}')}/manifest.json",
        pairs=f"{PATHS.intersection('{source}', '{target}')}/pairs.parquet",
        report=f"{PATHS.intersection('{source}', '{target}')}/report.json",
        page=f"{PATHS.intersection('{source}', '{target}')}/report.md",
    log:
        f"{RESULTS}/logs/intersect_vocabularies/{{source}}--{{target}}.log",
    params:
        **params_of("intersect_vocabularies"),
