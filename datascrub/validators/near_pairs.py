"""The SQL that finds pictures which look alike: perceptual hashes joined in bands, verified on small pixels."""

from __future__ import annotations

_FULL = 64
"""pictures that share the value of a band up to which all pairs of them are looked at"""
_NEXT = 16
"""in a fuller one, how many that follow in the order of the hash"""

_BYTES = ", ".join(f"(words[{word + 1}] >> {shift}) & 255" for word in range(8) for shift in range(56, -8, -8))
_WORDS = ", ".join(f"('0x' || thumbnail[{1 + 16 * word}:{16 + 16 * word}])::UBIGINT" for word in range(8))

# Each group of equal pixels is represented by its first sample. Four bands make four rows of each; a pair may be met in several.
ALIKE = f"""
    WITH picture AS MATERIALIZED (
        SELECT min(number) AS number, any_value({{field}}.perceptual_hash) AS hash FROM facts
        WHERE {{field}}.perceptual_hash IS NOT NULL GROUP BY hash(coalesce({{field}}.pixel_hash, {{field}}.hash))
    ), band AS (
        SELECT number, hash, 4 * ((hash >> (16 * place)) & 65535) + place AS value FROM picture, range(4) AS places(place)
    ), fullness AS MATERIALIZED (
        SELECT value, count(*) > {_FULL} AS is_full FROM band GROUP BY value HAVING count(*) > 1
    ), sparse AS (
        SELECT number, hash, value FROM band WHERE value IN (SELECT value FROM fullness WHERE NOT is_full)
    ), full_band AS MATERIALIZED (
        SELECT number, hash, value, row_number() OVER (PARTITION BY value ORDER BY hash, number) AS place
        FROM band WHERE value IN (SELECT value FROM fullness WHERE is_full)
    ), met AS (
        SELECT a.number AS one, b.number AS two, bit_count(xor(a.hash, b.hash)) AS bits FROM sparse AS a JOIN sparse AS b USING (value)
        WHERE a.number < b.number AND bit_count(xor(a.hash, b.hash)) <= $near_bits
        UNION ALL
        SELECT a.number, b.number, bit_count(xor(a.hash, b.hash)) FROM
            (SELECT number, hash, value, place + unnest(range(1, {_NEXT + 1})) AS place FROM full_band) AS a JOIN full_band AS b USING (value, place)
        WHERE bit_count(xor(a.hash, b.hash)) <= $near_bits
    ), pair AS MATERIALIZED (
        SELECT DISTINCT least(one, two) AS number, greatest(one, two) AS other, bits FROM met
    ), small AS MATERIALIZED (
        SELECT number, list_transform(cells, lambda cell: cell - list_avg(cells))::FLOAT[64] AS cells FROM (
            SELECT number, [{_BYTES}]::FLOAT[] AS cells FROM (
                SELECT number, [{_WORDS}] AS words FROM (
                    SELECT number, {{field}}.thumbnail AS thumbnail FROM facts
                    WHERE number IN (SELECT number FROM pair UNION SELECT other FROM pair))))
    ), alike AS MATERIALIZED (
        SELECT pair.number, pair.other, bits, array_cosine_similarity(a.cells, b.cells) AS similarity
        FROM pair JOIN small AS a ON a.number = pair.number JOIN small AS b ON b.number = pair.other
        WHERE array_cosine_similarity(a.cells, b.cells) >= $near_similarity
    )"""
"""common table expressions up to alike(number, other, bits, similarity), number < other"""
