package judge;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.solr.ltr.model.LTRScoringModel;
import org.apache.solr.ltr.norm.IdentityNormalizer;
import org.apache.solr.ltr.norm.Normalizer;

/** Solr's module Learning to Rank. */
class Solr extends Judge {
    private LTRScoringModel model;

    public static void main(String[] folders) throws IOException {
        new Solr().run(folders);
    }

    @Override
    @SuppressWarnings("unchecked")
    void read(String body, List<Object> names) {
        Map<String, Object> given = (Map<String, Object>) Stubs.parse(body);
        Stubs.SolrResourceLoader loader = new Stubs.SolrResourceLoader();
        List<Stubs.Feature> features = new ArrayList<>();
        List<Normalizer> norms = new ArrayList<>();
        for (Map<String, Object> feature : (List<Map<String, Object>>) given.get("features")) {
            features.add(new Stubs.Feature((String) feature.get("name")));
            Map<String, Object> norm = (Map<String, Object>) feature.get("norm");
            norms.add(norm == null ? IdentityNormalizer.INSTANCE : Normalizer.getInstance(
                    loader,
                    (String) norm.get("class"),
                    (Map<String, Object>) norm.get("params")));
        }
        model = LTRScoringModel.getInstance(
                loader,
                (String) given.get("class"),
                (String) given.get("name"),
                features,
                norms,
                (String) given.get("store"),
                features,
                (Map<String, Object>) given.get("params"));
    }

    @Override
    float score(float[] row) {
        float[] normalized = row.clone();
        model.normalizeFeaturesInPlace(normalized);
        return model.score(normalized);
    }
}
